"""The executor service: runs the actions of a turn in batches, and records the outcome of each."""
