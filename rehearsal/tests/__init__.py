"""Tests of the rehearsal model; they need nothing of Parley but the contract, which they read as data."""
