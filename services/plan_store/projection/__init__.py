"""The rows of sessions, projected from the log."""
