"""Writes the code for an approved plan: new, revised by feedback or by failed checks, or another from scratch."""
