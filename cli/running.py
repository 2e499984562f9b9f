"""What the other commands need of a running Parley: its bus and its store, or a clear word about what is missing."""

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable

import structlog

from cli.home import attached
from cli.nats_server import probe, without_secrets
from shared.bus import Bus
from shared.log import UpgradeNeeded
from shared.settings import Settings
from shared.store import Store, StoreDown, StoreRefused
from shared.store_api import Message, Verb

LOCAL_USER = "local"  # whom a gateway without accounts takes everybody for


class Unreachable(Exception):
    """Something this command needs is not there; the message says where it looked and what to do."""


class Declined(Exception):
    """The command cannot be carried out as given; the message says why."""


@contextlib.asynccontextmanager
async def bus(settings: Settings) -> AsyncIterator[Bus]:
    """The bus of the running Parley (or of NATS_URL). Raises Unreachable, at once, where no NATS answers."""
    named = "NATS_URL" if "nats_url" in settings.model_fields_set else f"PARLEY_HOME={settings.parley_home}"
    settings = attached(settings)
    shown = without_secrets(settings.nats_url)
    try:
        await asyncio.to_thread(probe, settings.nats_url)
    except OSError as error:
        raise Unreachable(
            f"No NATS answers at {shown} ({error}; looked there because of {named}).\n"
            "Start Parley with `make up` (or `parley up`), or name the server with NATS_URL."
        ) from error
    found = Bus(settings, "cli")
    try:
        async with asyncio.timeout(10):
            await found.connect()
    except TimeoutError as error:
        raise Unreachable(f"NATS at {shown} does not let us in: is the user or token in NATS_URL right?") from error
    try:
        yield found
    finally:
        await found.stop()


async def query[Q: Message, A: Message](store: Store, verb: Verb[Q, A], request: Q) -> A:
    """One request to plan_store. Raises Unreachable or Declined."""
    try:
        answer = await store.ask(verb.name, **request.model_dump(mode="json"))
    except StoreDown as error:
        raise Unreachable(
            f"{error} It is asked on the subject plan_store.{verb.name}.\n"
            "Is the plan_store service up? `make up` starts it; `parley doctor` says more."
        ) from error
    except StoreRefused as error:
        raise Declined(str(error)) from error
    return verb.answer.model_validate(answer, extra="allow")  # a newer plan_store may say more


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
    except (Unreachable, Declined, UpgradeNeeded) as error:
        print(f"parley {name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough
        sys.stderr.close()
        return 0


async def _awaited(command: Callable[[], Awaitable[int]]) -> int:
    return await command()
