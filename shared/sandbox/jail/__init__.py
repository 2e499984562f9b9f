"""What runs inside the new process: it locks itself in, layer by layer, and then becomes the user's program.

This package is started by path with an isolated interpreter, so it imports nothing but the light part of the standard
library and itself. Each start pays for every import: `json`, `typing`, `enum` or `re` would double the time to start.
"""
