"""The environment that a child process is given: ours, with what the parent has found out put over it."""

import os


def child_environment(**overrides: str) -> dict[str, str]:
    """This process's environment with `overrides` in place; a child's output is never held back in a buffer."""
    return os.environ | {"PYTHONUNBUFFERED": "1"} | overrides
