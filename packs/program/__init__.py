"""Python programs, run in the sandbox."""
