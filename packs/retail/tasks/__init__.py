"""Test tasks for agents over the retail store: what they look like, what makes a good one, and what is wrong with one.

Pure: files of tasks can be judged, corrected and exported without a running Parley. `cli.tasks` makes new ones.
"""
