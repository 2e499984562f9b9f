"""`parley tasks`: makes test tasks by a running Parley, and judges, corrects and exports them.

`TaskGenerator` (generator.py) does it from Python.
"""
