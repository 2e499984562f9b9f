"""What every command begins with: the settings, and running it, with its errors as a message and an exit code."""

# ruff: noqa: PLC0415  deferred imports, so that --help is quick

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from shared.settings import Settings


class Unreachable(Exception):
    """A service that the command needs cannot be reached; the message says where it was expected and what to do."""


class Declined(Exception):
    """The command cannot be carried out as given; the message says why."""


def version() -> str:
    """The version of the installed package, or of the checkout that runs."""
    from importlib import metadata

    try:
        return metadata.version("parley")
    except metadata.PackageNotFoundError:  # running from a checkout, as `make` does
        import tomllib

        project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
        return str(project["project"]["version"])


def silence_logs() -> None:
    """Log errors only, and to stderr: a program may read the command's stdout."""
    import structlog

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def run_command(name: str, command: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Run a command and return its exit code. Prints Unreachable and Declined to stderr."""
    silence_logs()
    try:
        return asyncio.run(command())
    except (Unreachable, Declined) as error:
        print(f"parley {name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has closed the pipe
        sys.stderr.close()
        return 0


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
    settings = load_settings()
    raise typer.Exit(run_command(name, lambda: command(settings)))
