"""Databases that are only read: a schema to show to a model, a look at each statement, and runs within limits."""
