"""Drafts of plans that act, held against the tools there are. Pure."""
