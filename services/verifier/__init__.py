"""Judges: the code before a person sees it, and the result of a run against the plan."""
