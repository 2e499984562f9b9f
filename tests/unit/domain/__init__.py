"""Tests of the pure domain: given events, when a command, then an event or a refusal."""
