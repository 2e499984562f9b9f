"""What every command of `parley` begins with: the settings, and running an asynchronous command to its exit code."""

# ruff: noqa: PLC0415  deferred imports, so that --help is quick

import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from shared.settings import Settings


def load_settings() -> "Settings":
    """The settings. Exits with 2 and a message if one of them is invalid."""
    from pydantic import ValidationError

    from shared.settings import Settings

    try:
        return Settings()
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            name = str(problem["loc"][0]).upper() if problem["loc"] else "the environment"
            print(f"parley: {name}: {problem['msg']}", file=sys.stderr)
        raise typer.Exit(2) from None


def run_with_settings(name: str, command: "Callable[[Settings], Coroutine[Any, Any, int]]") -> None:
    """Run a command and exit with its code; `name` is the command's in error messages."""
    from cli.command import run_command

    settings = load_settings()
    raise typer.Exit(run_command(name, lambda: command(settings)))
