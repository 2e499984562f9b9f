"""Chaos tests: kill, pause and starve a whole Parley under load, and check the invariants that must hold anyway."""
