"""The programs that the rehearsal model writes, each with its tests.

A file holds all variants at once and is itself valid Python. `#: name` at the end of a line, or lines between `#: name`
and `#: end`, belong to the variant of that name only; `#: not name` is the opposite. `second` is the other approach.
"""
