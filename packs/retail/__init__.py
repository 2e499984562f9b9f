"""A retail store to practise on: tau-bench's sixteen tools with their exact behaviour, over worlds kept in SQL.

`Worlds` opens a database and gives worlds by name; each is a copy of the first state that costs nothing until something
is changed in it. `SPECS` describes the tools, `RULES` the store's policy, and `violations` judges calls by it.
"""
