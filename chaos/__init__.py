"""Faults on purpose: a whole Parley under load, killed, paused and starved, and what must hold all the same."""
