"""Creates and updates streams and consumers in one idempotent step, or reports drift without a change."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import nats
import nats.errors
from nats.aio.client import Client

from shared.bus.connection import address, payload_problem
from shared.bus.errors import BusUnavailable
from shared.bus.jetstream_api import NATS_ERRORS
from shared.bus.log_format import WrongFormat, require_format
from shared.bus.topology import MIN_SERVER, SESSIONS, Config, consumers, streams
from shared.settings import Settings

CONNECT_TIMEOUT = 5.0  # seconds
TRY_TIMEOUT = 2.0  # seconds for one attempt
PROVISION_TIMEOUT = 15.0  # seconds for all attempts: a cluster elects a leader within ten
NOT_FOUND_CODES = (10059, 10014)  # no such stream, no such consumer
NO_LEADER, NO_PEERS = 10008, 10005  # NO_PEERS also while the servers of a new cluster do not know each other yet
BROKEN_CONSUMER = 10012  # the server cannot read the consumer's files
HINTS = {
    NO_LEADER: ": has the cluster a majority of its servers?",
    10074: ": NATS_REPLICAS is for a cluster; leave it out for a single server",
    10065: ": a stream of another version has these subjects; name an empty server, or delete that stream",
    NO_PEERS: ": NATS_REPLICAS must not be more than the servers of the cluster",
}


class ProvisionError(Exception):
    """NATS refuses, or is too old; the text says what to do."""


class DamagedConsumer(ProvisionError):
    """The server cannot read the files of a consumer, which are in `folder` of its store. Without them it is new."""

    def __init__(self, stream: str, name: str) -> None:
        self.folder = f"streams/{stream}/obs/{name}"
        super().__init__(
            f"The stored state of the consumer {name} is damaged. Move {self.folder} out of nats-server's store: the "
            "consumer is then made again. No event is lost, and work that is done is not repeated."
        )


async def provision(settings: Settings, *, force: bool = False) -> list[str]:
    """Create or update what this version of Parley needs. Returns a line for each change.

    NATS_REPLICAS may raise the number of replicas; only with `force` may it lower it.
    Raises ProvisionError, BusUnavailable.
    """
    return await _run(settings, change=True, force=force)


async def check(settings: Settings) -> list[str]:
    """Compare without changing anything. Returns a line for each difference. Raises as `provision`."""
    return await _run(settings, change=False, force=False)


async def _run(settings: Settings, *, change: bool, force: bool) -> list[str]:
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT):  # nats-py alone would try a closed port for two minutes
            client = await nats.connect(
                **address(settings).options, name="provision", allow_reconnect=False, error_cb=_ignore
            )
    except (OSError, TimeoutError, nats.errors.Error) as error:
        raise BusUnavailable(f"NATS cannot be reached: {error or type(error).__name__}") from error
    try:
        _check_server(client)
        least = 1 if force else await _replicas(client)
        configurations = streams(settings.model_copy(update={"nats_replicas": max(settings.nats_replicas, least)}))
        changes = [await _stream(client, config, settings.parley_home, change=change) for config in configurations]
        changes += [await _consumer(client, stream, config, change=change) for stream, config in consumers(settings)]
        return [line for line in changes if line]
    finally:
        await client.close()


async def _ignore(_: Exception) -> None:
    """Print nothing: the caller gets every error."""


def _check_server(client: Client) -> None:
    version = client.connected_server_version
    if (version.major, version.minor) < MIN_SERVER:
        needed = ".".join(map(str, MIN_SERVER))
        raise ProvisionError(f"nats-server {version} is too old: Parley needs {needed} or newer.")
    if problem := payload_problem(client):
        raise ProvisionError(f"NATS: {problem}.")


async def _replicas(client: Client) -> int:
    """The number of replicas of the log; 1 if there is no log."""
    stream = await _existing(client, f"STREAM.INFO.{SESSIONS}")
    return int(stream["config"].get("num_replicas", 1)) if stream else 1


async def _stream(client: Client, config: Config, home: Path, *, change: bool) -> str:
    name = config["name"]
    existing = await _existing(client, f"STREAM.INFO.{name}")
    if existing is None:
        if change:
            await _change(client, f"STREAM.CREATE.{name}", config)
        return f"stream {name}: {'made' if change else 'missing'}"
    if name == SESSIONS:
        _require_same_format(existing, home)
    current = existing["config"]
    metadata = {"metadata": (current.get("metadata") or {}) | config["metadata"]} if "metadata" in config else {}
    drift = _differences(config | metadata, current)
    if drift and change:
        await _change(client, f"STREAM.UPDATE.{name}", current | config | metadata)
    return f"stream {name}: {'mended' if change else 'differs in'} {drift}" if drift else ""


async def _consumer(client: Client, stream: str, config: Config, *, change: bool) -> str:
    name = config["name"]
    existing = await _existing(client, f"CONSUMER.INFO.{stream}.{name}")
    drift = _differences(config, existing["config"]) if existing is not None else ""
    if existing is not None and not drift:
        return ""
    if change:
        request = f"CONSUMER.CREATE.{stream}.{name}"
        answer = await _api(client, request, {"stream_name": stream, "config": config})
        if answer.get("error", {}).get("err_code") == BROKEN_CONSUMER:
            raise DamagedConsumer(stream, name)
        _raise_on_error(request, answer)
    if existing is None:
        return f"consumer {stream}/{name}: {'made' if change else 'missing'}"
    return f"consumer {stream}/{name}: {'mended' if change else 'differs in'} {drift}"


def _differences(expected: Config, current: Config) -> str:
    """`key (current, expected)` of every setting that differs. The server leaves out zero values."""
    different = (
        f"{key} ({current.get(key)!r}, wanted {value!r})"
        for key, value in expected.items()
        if current.get(key, _ZERO.get(type(value))) != value
    )
    return ", ".join(different)


_ZERO: dict[type, Any] = {int: 0, bool: False, str: "", list: []}


async def _existing(client: Client, subject: str) -> Config | None:
    """The server's description; None if it does not exist. Raises ProvisionError."""
    answer = await _api(client, subject, {})
    if answer.get("error", {}).get("err_code") in NOT_FOUND_CODES:
        return None
    return _raise_on_error(subject, answer)


def _require_same_format(stream: Config, home: Path) -> None:
    """Raise ProvisionError for a log of another format."""
    try:
        require_format(stream, home)
    except WrongFormat as error:
        raise ProvisionError(str(error)) from error


async def _change(client: Client, subject: str, request: Config) -> None:
    _raise_on_error(subject, await _api(client, subject, request))


async def _api(client: Client, subject: str, request: Config) -> Config:
    """Send a request, and retry while a cluster starts or elects a leader. Raises BusUnavailable."""
    deadline = time.monotonic() + PROVISION_TIMEOUT
    while True:
        try:
            reply = await client.request(f"$JS.API.{subject}", json.dumps(request).encode(), timeout=TRY_TIMEOUT)
            answer: Config = json.loads(reply.data)
            if answer.get("error", {}).get("err_code") not in (NO_LEADER, NO_PEERS) or time.monotonic() > deadline:
                return answer
        except NATS_ERRORS as error:
            if time.monotonic() > deadline:
                raise BusUnavailable(
                    f"NATS does not answer {subject}: has the cluster a majority of its servers?"
                ) from error
        await asyncio.sleep(0.25)


def _raise_on_error(subject: str, answer: Config) -> Config:
    if error := answer.get("error"):
        hint = HINTS.get(error.get("err_code"), "")
        raise ProvisionError(f"{subject}: {error.get('description')} ({error.get('err_code')}){hint}")
    return answer
