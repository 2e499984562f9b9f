"""Test tasks for agents over the retail store: scenarios, validation, correction and export.

Pure: task files can be processed without a running Parley. `cli.tasks` generates new tasks.
"""
