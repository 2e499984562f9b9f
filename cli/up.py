"""`parley up`: everything on this machine, started together, watched, and stopped together."""

import asyncio
import importlib
import os
import signal
from collections.abc import Callable, Coroutine
from types import ModuleType
from typing import Any

from cli.console import Console, says_ready
from cli.entitlements import environment_for
from cli.home import HomeUnusable, Running, announce, hold
from cli.nats_server import MINIMUM, Info, NatsMissing, find_binary, prepare, probe, version_of, without_secrets
from cli.readiness import missing, watch
from cli.services import (
    CannotStart,
    check_address,
    check_database,
    check_login,
    complete,
    health_urls,
    page_url,
    programs,
)
from cli.supervisor import Program, Supervisor
from shared.settings import Settings

# Seconds that a service has to finish what it does when all is stopped: what is left is redelivered at the next start.
_DRAIN = 3.0
_STARTS_WITHIN = 2.0  # what a server of our own needs at most, in seconds
_PROVISIONS_WITHIN = 20.0
_RETRY = 1.0


def up(settings: Settings, verbose: bool = False) -> int:
    """Start everything, print `ready <url>` on stdout when all of it answers, run until a signal; the exit code."""
    console = Console(verbose=verbose)
    try:
        asyncio.run(_until_signal(_run(settings, console)))
    except (CannotStart, HomeUnusable, NatsMissing) as error:
        console.say(f"parley up: {error}")
        return 1
    console.say("stopped: all that was started here has ended")
    return 0


async def _until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` until it fails or a signal cancels it. Later signals change nothing: the clean-up takes seconds."""
    task, asked = asyncio.create_task(work), asyncio.Event()

    def stop() -> None:
        if not asked.is_set():
            asked.set()
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not asked.is_set():
            raise


async def _run(settings: Settings, console: Console) -> None:
    check_address(settings)
    await check_database(settings)
    home, drain = settings.parley_home.resolve(), min(settings.graceful_timeout, _DRAIN)
    with hold(home):
        chosen = complete(settings.model_copy(update={"parley_home": home, "graceful_timeout": drain}))
        check_login(chosen)
        await _start(chosen, console, rehearsal=not settings.model_url)


async def _start(settings: Settings, console: Console, *, rehearsal: bool) -> None:
    logs = settings.parley_home / "logs"
    # Importing it takes its time: meanwhile a binary is looked for, or a server that runs already answers.
    bus = asyncio.create_task(asyncio.to_thread(importlib.import_module, "shared.bus.provision"))

    def supervisor() -> Supervisor:
        return Supervisor(logs, line=console.line, note=console.note, is_ready=says_ready, grace=_DRAIN + 1)

    # The services stop before the broker does: leaving the blocks goes from the inner to the outer one.
    async with supervisor() as broker:
        settings, nats_url_of = await _connect(settings, broker, console, bus)
        async with supervisor() as services:
            # They wait for what is being provisioned: meanwhile they load, which takes longest.
            wanted = programs(settings, rehearsal=rehearsal, nats_url_of=nats_url_of)
            children = [services.start(program) for program in wanted]
            await _provision(await bus, settings, console)
            console.say(f"database   {without_secrets(settings.database_url)}")
            console.say(f"model      {_model(settings, rehearsal=rehearsal)}")
            console.say(f"services   {', '.join(services.children)}; logs in {logs}")
            page, urls = page_url(settings), health_urls(settings, rehearsal=rehearsal)
            here = Running(pid=os.getpid(), page=page, nats_url=settings.nats_url)
            with announce(settings.parley_home, here):
                await watch(
                    lambda: missing(children, urls),
                    ready=lambda: print(f"ready {page}", flush=True),
                    say=console.say,
                )


def _model(settings: Settings, *, rehearsal: bool) -> str:
    if rehearsal:
        return f"the rehearsal model at {settings.model_url} (rules, not an LLM: set OPENAI_BASE_URL for a real one)"
    return f"{settings.openai_model or 'what is offered'} at {without_secrets(settings.model_url)}"


async def _connect(
    settings: Settings, broker: Supervisor, console: Console, bus: asyncio.Task[ModuleType]
) -> tuple[Settings, Callable[[str], str]]:
    """The settings with the URL of a NATS server that answers: the configured one, or our own, started here.

    And the URL of each service: our own server has a user for each, and one with all rights for the operator.
    """
    url_of: Callable[[str], str]
    if "nats_url" in settings.model_fields_set:
        origin, url_of = "from NATS_URL", lambda _: settings.nats_url
    else:
        binary, origin = await asyncio.to_thread(find_binary)
        await bus  # it knows the users; of two threads that load it at once, one would see half of it
        place = prepare(settings.parley_home)
        broker.start(Program("nats", place.command(binary), environment_for("nats")))
        settings, url_of = settings.model_copy(update={"nats_url": place.url}), place.url_of
    shown = without_secrets(settings.nats_url)
    info = await _answer(
        settings.nats_url, lambda why: console.say(f"nats       {shown} does not answer ({why}); waiting")
    )
    if version_of(info.version) < MINIMUM:
        raise CannotStart(
            f"NATS at {shown} is {info.version}: 2.12 or newer is needed; unset NATS_URL to use Parley's own"
        )
    console.say(f"nats       {info.version} {origin} at {shown}")
    return settings, url_of


async def _provision(bus: ModuleType, settings: Settings, console: Console) -> None:
    """Streams and consumers as they should be, before any service looks for them; tried until it works."""
    told = ""
    while True:
        try:
            async with asyncio.timeout(_PROVISIONS_WITHIN):
                changes = await bus.provision(settings)
            break
        except bus.ProvisionError as error:
            raise CannotStart(str(error)) from error
        except Exception as error:  # only the bus knows what NATS raises, and it may mend itself: it is said
            if (why := str(error) or repr(error)) != told:
                told = why
                console.say(f"provision  {why}; trying again")
            await asyncio.sleep(_RETRY)
    mended = [change for change in changes if not change.endswith(": made")]
    made = len(changes) - len(mended)
    for text in ([f"{made} streams and consumers made"] if made else []) + mended:
        console.say(f"provision  {text}")


async def _answer(url: str, say: Callable[[str], None]) -> Info:
    """Wait for the server; when it takes longer than one of our own needs, `say` why, once for each reason."""
    loop, told = asyncio.get_running_loop(), ""
    patient_until = loop.time() + _STARTS_WITHIN
    while True:
        try:
            return await asyncio.to_thread(probe, url)
        except OSError as error:
            impatient = loop.time() > patient_until
            if impatient and (why := str(error)) != told:
                told = why
                say(why)
            await asyncio.sleep(_RETRY if impatient else 0.02)
