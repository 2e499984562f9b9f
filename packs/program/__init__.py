"""The program that a person approved, run in the sandbox."""
