"""Tests of the rehearsal model. They need only the contract of Parley, which they read as data."""
