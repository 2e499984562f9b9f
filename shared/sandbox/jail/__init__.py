"""The launcher, which runs in the new process: it isolates itself layer by layer, then becomes the user's program.

An isolated interpreter starts this package by path, so it imports only itself and light modules of the standard
library. Each start pays for every import: `json`, `typing`, `enum` or `re` would double the start time.
"""
