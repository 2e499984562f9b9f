"""Packs: tools with the rules and words that belong to them. Each folder is one; only the executor runs them."""
