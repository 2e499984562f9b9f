"""Checks of execution plans against the available tools. Pure."""
