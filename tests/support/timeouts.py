"""How long a test waits for what must happen. Only a test that fails takes that long; a busy machine is slow."""

WAIT_TIMEOUT = 150.0  # seconds; pytest ends a test after twice that
