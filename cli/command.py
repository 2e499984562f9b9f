"""How a command ends: with its exit code, or with what it could not do said on stderr."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable

import structlog


class Unreachable(Exception):
    """Something this command needs is not there; the message says where it looked and what to do."""


class Declined(Exception):
    """The command cannot be carried out as given; the message says why."""


def quiet() -> None:
    """The bus tells its own story in a log; a command's output is its own, and stdout may be read by a program."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def run(name: str, command: Callable[[], Awaitable[int]]) -> int:
    """Run a command to its exit code; what it cannot do is said on stderr."""
    quiet()
    try:
        return asyncio.run(_awaited(command))
    except (Unreachable, Declined) as error:
        print(f"parley {name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough
        sys.stderr.close()
        return 0


async def _awaited(command: Callable[[], Awaitable[int]]) -> int:
    return await command()
