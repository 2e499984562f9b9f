"""A sample retail store: tau-bench's sixteen tools with their exact behaviour, over worlds stored in SQL.

`Worlds` opens a database and returns worlds by name. Each world is a copy-on-write copy of the initial state. `SPECS`
describes the tools, `RULES` the store's policy, and `violations` checks calls against it.
"""
