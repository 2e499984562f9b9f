"""`parley tasks`: generates test tasks with a running Parley, and validates, corrects and exports them.

`TaskGenerator` (generator.py) does the same from Python.
"""
