"""The environment beside the settings: what a child process is given, and variables that a file of ours names."""

import os


def child_environment(**overrides: str) -> dict[str, str]:
    """This process's environment with `overrides` in place; a child's output is never held back in a buffer."""
    return os.environ | {"PYTHONUNBUFFERED": "1"} | overrides


def variable(name: str) -> str | None:
    """A variable that a configuration file asks for by its name; None where it is not set."""
    return os.environ.get(name)
