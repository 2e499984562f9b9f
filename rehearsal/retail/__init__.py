"""How the rehearsal model plays planner, verifier, generator and task drafter for requests to a retail store."""
