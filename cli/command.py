"""Runs a command and turns its errors into a message on stderr and an exit code."""

import asyncio
import logging
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import structlog


class Unreachable(Exception):
    """A service that the command needs cannot be reached; the message says where it was expected and what to do."""


class Declined(Exception):
    """The command cannot be carried out as given; the message says why."""


def silence_logs() -> None:
    """Log errors only, and to stderr: a program may read the command's stdout."""
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
