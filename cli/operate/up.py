"""`parley up`: starts everything on this machine, supervises it, and stops it together."""

import asyncio
import json
import os
import re
import signal
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cli.gateway import page_url
from cli.operate.home import HomeUnusable, RunningParley, announce, lock_home
from cli.operate.nats_server import (
    MINIMUM,
    NatsInfo,
    NatsMissing,
    find_binary,
    prepare,
    probe,
    restart_when_there_is_room,
    version_of,
    without_secrets,
)
from cli.operate.programs import (
    CannotStart,
    check_address,
    check_database,
    check_login,
    environment_for,
    health_urls,
    missing_programs,
    program_specs,
    watch,
    with_defaults,
)
from cli.operate.supervisor import ProcessSpec, Supervisor
from cli.text import visible
from shared.bus import provision as bus  # before any thread starts: two threads must not import parts of one package
from shared.settings import Settings

# Seconds that a service has to finish its work at shutdown; unfinished work is redelivered at the next start.
_DRAIN = 3.0
_START_TIMEOUT = 2.0  # seconds that Parley's own server needs at most
_PROVISION_TIMEOUT = 20.0
_RETRY = 1.0
_STORE = "nats/store/jetstream/$G"


_LOUD = {"warning", "error", "critical"}
_OWN_FIELDS = {"level", "event", "timestamp", "logger", "service", "exception"}
_COLOURS = (36, 33, 35, 32, 34, 96, 93, 95, 92)
# nats-server's warnings are left out: it warns of passwords in its configuration, which only its owner can read.
_NATS_LOUD = re.compile(r"\[(ERR|FTL)\] (.*)")


def compact(text: str) -> str:
    """The part of a program's log line that a user should see; "" if none."""
    if match := _NATS_LOUD.search(text):
        return match[2]
    entry = _entry(text)
    if entry is None or str(entry.get("level", "")).lower() not in _LOUD:
        return ""
    rest = " ".join(f"{key}={value}" for key, value in entry.items() if key not in _OWN_FIELDS)
    return f"{entry['level']}: {entry.get('event', '')} {rest}".rstrip()


def is_ready_line(text: str) -> bool:
    """Whether this is the log line by which a service reports that it is ready."""
    return '"ready"' in text and (_entry(text) or {}).get("event") == "ready"


class Console:
    """Prints lines to stderr. stdout is reserved for the one line that programs wait for."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose, self._coloured = verbose, sys.stderr.isatty()
        self._recent: dict[str, deque[str]] = defaultdict(lambda: deque(maxlen=6))
        self._names: dict[str, int] = {}

    def say(self, text: str) -> None:
        """Print a line of `parley up` itself."""
        print(text, file=sys.stderr, flush=True)

    def program_line(self, name: str, text: str) -> None:
        """Handle a line that a program has written."""
        if _entry(text) is None:
            self._recent[name].append(text)
        if visible_part := text if self._verbose else compact(text):
            self._show(name, visible_part)

    def program_event(self, name: str, text: str) -> None:
        """Print an event of a program's life, after the program's last lines, such as a traceback."""
        if not self._verbose:
            for line in self._recent[name]:
                self._show(name, line)
        self._recent[name].clear()
        self._show(name, text)

    def _show(self, name: str, text: str) -> None:
        colour = _COLOURS[self._names.setdefault(name, len(self._names)) % len(_COLOURS)]
        label = f"\033[{colour}m{name:>10}\033[0m" if self._coloured else f"{name:>10}"
        self.say(f"{label} | {visible(text)}")


def _entry(text: str) -> dict[str, object] | None:
    if not text.startswith("{"):
        return None
    try:
        match = json.loads(text)
    except ValueError:
        return None
    return match if isinstance(match, dict) else None


def up(settings: Settings, verbose: bool = False) -> int:
    """Start everything, print `ready <url>` on stdout once all is ready, run until a signal. Returns the exit code."""
    console = Console(verbose=verbose)
    try:
        asyncio.run(_until_signal(_run(settings, console)))
    except (CannotStart, HomeUnusable, NatsMissing) as error:
        console.say(f"parley up: {error}")
        return 1
    console.say("stopped: all that was started here has ended")
    return 0


async def _until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` until it fails or a signal cancels it. Ignores further signals, as the clean-up takes seconds."""
    task, stop_requested = asyncio.create_task(work), asyncio.Event()

    def stop() -> None:
        if not stop_requested.is_set():
            stop_requested.set()
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not stop_requested.is_set():
            raise


async def _run(settings: Settings, console: Console) -> None:
    check_address(settings)
    await check_database(settings)
    home, drain = settings.parley_home.resolve(), min(settings.graceful_timeout, _DRAIN)
    with lock_home(home):
        completed = with_defaults(settings.model_copy(update={"parley_home": home, "graceful_timeout": drain}))
        check_login(completed)
        await _start(completed, console, rehearsal=not settings.model_url)


async def _start(settings: Settings, console: Console, *, rehearsal: bool) -> None:
    logs = settings.parley_home / "logs"

    def supervisor() -> Supervisor:
        return Supervisor(
            logs, line=console.program_line, note=console.program_event, is_ready=is_ready_line, grace=_DRAIN + 1
        )

    # The inner block ends first, so the services stop before the broker.
    async with supervisor() as broker:
        settings, nats_url_of = await _connect(settings, broker, console)
        async with supervisor() as services:
            # They load, which takes longest, while streams are provisioned, and then wait for them.
            specs = program_specs(settings, rehearsal=rehearsal, nats_url_of=nats_url_of)
            children = [services.start(program) for program in specs]
            await _provision(settings, console, store=_STORE if "nats" in broker.children else None)
            console.say(f"database   {without_secrets(settings.database_url)}")
            console.say(f"model      {_model_description(settings, rehearsal=rehearsal)}")
            console.say(f"services   {', '.join(services.children)}; logs in {logs}")
            page, urls = page_url(settings), health_urls(settings, rehearsal=rehearsal)
            record = RunningParley(pid=os.getpid(), page=page, nats_url=settings.nats_url)
            with announce(settings.parley_home, record):
                async with asyncio.TaskGroup() as tasks:
                    if own := broker.children.get("nats"):
                        folder = settings.parley_home / "nats"
                        tasks.create_task(restart_when_there_is_room(folder, own, console.say))
                    await watch(
                        lambda: missing_programs(children, urls),
                        ready=lambda: print(f"ready {page}", flush=True),
                        say=console.say,
                    )


def _model_description(settings: Settings, *, rehearsal: bool) -> str:
    if rehearsal:
        return f"the rehearsal model at {settings.model_url} (rules, not an LLM: set OPENAI_BASE_URL for a real one)"
    return f"{settings.openai_model or 'what is offered'} at {without_secrets(settings.model_url)}"


async def _connect(settings: Settings, broker: Supervisor, console: Console) -> tuple[Settings, Callable[[str], str]]:
    """Wait for the configured NATS server, or start Parley's own. Returns settings with its URL, and a URL per service.

    Parley's own server has a user for each service, and one with all rights for the operator.
    """
    url_of: Callable[[str], str]
    if "nats_url" in settings.model_fields_set:
        origin, url_of = "from NATS_URL", lambda _: settings.nats_url
    else:
        binary, origin = await asyncio.to_thread(find_binary)
        place = prepare(settings.parley_home)
        broker.start(ProcessSpec("nats", place.command(binary), environment_for("nats")))
        settings, url_of = settings.model_copy(update={"nats_url": place.url}), place.url_of
    address = without_secrets(settings.nats_url)
    info = await _wait_for_nats(
        settings.nats_url, lambda why: console.say(f"nats       {address} does not answer ({why}); waiting")
    )
    if version_of(info.version) < MINIMUM:
        raise CannotStart(
            f"NATS at {address} is {info.version}: 2.12 or newer is needed; unset NATS_URL to use Parley's own"
        )
    console.say(f"nats       {info.version} {origin} at {address}")
    return settings, url_of


async def _provision(settings: Settings, console: Console, *, store: str | None) -> None:
    """Provision streams and consumers before any service needs them. Retries until it works.

    In Parley's own `store`, a folder of PARLEY_HOME, a damaged consumer is moved aside. Raises CannotStart.
    """
    last_said = ""
    while True:
        try:
            async with asyncio.timeout(_PROVISION_TIMEOUT):
                changes = await bus.provision(settings)
            break
        except bus.ProvisionError as error:
            if store is None or not isinstance(error, bus.DamagedConsumer):
                raise CannotStart(str(error)) from error
            kept = _move_aside(settings.parley_home / store / error.folder)
            console.say(f"provision  {error} It is now {kept}.")
        except Exception as error:  # any error of NATS, which may recover: report and retry
            if (why := str(error) or repr(error)) != last_said:
                last_said = why
                console.say(f"provision  {why}; trying again")
            await asyncio.sleep(_RETRY)
    updated = [change for change in changes if not change.endswith(": made")]
    created = len(changes) - len(updated)
    for text in ([f"{created} streams and consumers made"] if created else []) + updated:
        console.say(f"provision  {text}")


def _move_aside(folder: Path) -> Path:
    """Move the folder out of the server's store. Returns its new path. Raises CannotStart."""
    kept = folder.parents[6] / f"damaged-{folder.name}-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    try:
        return folder.rename(kept)
    except OSError as error:
        raise CannotStart(f"{folder} is damaged, and cannot be moved to {kept}: {error.strerror}") from error


async def _wait_for_nats(url: str, say: Callable[[str], None]) -> NatsInfo:
    """Wait for the server. If it takes longer than Parley's own needs, `say` each new reason once."""
    loop, last_said = asyncio.get_running_loop(), ""
    expected_by = loop.time() + _START_TIMEOUT
    while True:
        try:
            return await asyncio.to_thread(probe, url)
        except OSError as error:
            is_overdue = loop.time() > expected_by
            if is_overdue and (why := str(error)) != last_said:
                last_said = why
                say(why)
            await asyncio.sleep(_RETRY if is_overdue else 0.02)
