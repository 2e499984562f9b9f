"""Drafts plans: new ones, revised by feedback, and others from scratch."""
