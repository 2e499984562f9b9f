"""Streams and consumers, made or mended in one idempotent step; the same code reports drift without a change."""

import asyncio
import json
import time
from typing import Any

import nats
import nats.errors
from nats.aio.client import Client

from shared.bus.api import AMBIGUOUS
from shared.bus.connection import address, payload_problem
from shared.bus.errors import BusDown
from shared.bus.log_format import WrongFormat, require_format
from shared.bus.topology import MIN_SERVER, SESSIONS, Config, consumers, streams
from shared.settings import Settings

CONNECT = 5.0  # seconds
ANSWER, PATIENCE = 2.0, 15.0  # seconds for one try, and for all of them: a cluster elects a leader within ten
NOT_THERE = (10059, 10014)  # no such stream, no such consumer
NO_LEADER, NO_PEERS = 10008, 10005  # the second one also where servers of a fresh cluster do not know each other yet
HINTS = {
    NO_LEADER: ": has the cluster a majority of its servers?",
    10074: ": NATS_REPLICAS is for a cluster; leave it out for a single server",
    10065: ": a stream of another version has these subjects; name an empty server, or delete that stream",
    NO_PEERS: ": NATS_REPLICAS must not be more than the servers of the cluster",
}


class ProvisionError(Exception):
    """NATS refuses, or is too old; the message says what to do."""


async def provision(settings: Settings, *, force: bool = False) -> list[str]:
    """Bring the server to what this version of Parley needs; what was changed, in words.

    NATS_REPLICAS may raise the number of copies; only with `force` may it lower them.
    Raises ProvisionError, or BusDown when the server cannot be reached.
    """
    return await _run(settings, change=True, force=force)


async def check(settings: Settings) -> list[str]:
    """The same comparison without a change: every difference, in words; empty when all is as it should be."""
    return await _run(settings, change=False, force=False)


async def _run(settings: Settings, *, change: bool, force: bool) -> list[str]:
    try:
        async with asyncio.timeout(CONNECT):  # nats-py alone would try a closed port for two minutes
            client = await nats.connect(
                **address(settings).options, name="provision", allow_reconnect=False, error_cb=_ignore
            )
    except (OSError, TimeoutError, nats.errors.Error) as error:
        raise BusDown(f"NATS cannot be reached: {error or type(error).__name__}") from error
    try:
        _check_server(client)
        least = 1 if force else await _replicas(client)
        wanted = streams(settings.model_copy(update={"nats_replicas": max(settings.nats_replicas, least)}))
        found = [await _stream(client, config, change=change) for config in wanted]
        found += [await _consumer(client, stream, config, change=change) for stream, config in consumers(settings)]
        return [line for line in found if line]
    finally:
        await client.close()


async def _ignore(_: Exception) -> None:
    """Every failure comes back to the caller; nats-py would print it as well."""


def _check_server(client: Client) -> None:
    version = client.connected_server_version
    if (version.major, version.minor) < MIN_SERVER:
        needed = ".".join(map(str, MIN_SERVER))
        raise ProvisionError(f"nats-server {version} is too old: Parley needs {needed} or newer.")
    if problem := payload_problem(client):
        raise ProvisionError(f"NATS: {problem}.")


async def _replicas(client: Client) -> int:
    """How many copies there are of the log; 1 where there is none."""
    found = await _existing(client, f"STREAM.INFO.{SESSIONS}")
    return int(found["config"].get("num_replicas", 1)) if found else 1


async def _stream(client: Client, config: Config, *, change: bool) -> str:
    name = config["name"]
    found = await _existing(client, f"STREAM.INFO.{name}")
    if found is None:
        if change:
            await _must(client, f"STREAM.CREATE.{name}", config)
        return f"stream {name}: {'made' if change else 'missing'}"
    if name == SESSIONS:
        _same_format(found)
    there = found["config"]
    kept = {"metadata": (there.get("metadata") or {}) | config["metadata"]} if "metadata" in config else {}
    drift = _differences(config | kept, there)
    if drift and change:
        await _must(client, f"STREAM.UPDATE.{name}", there | config | kept)
    return f"stream {name}: {'mended' if change else 'differs in'} {drift}" if drift else ""


async def _consumer(client: Client, stream: str, config: Config, *, change: bool) -> str:
    name = config["name"]
    found = await _existing(client, f"CONSUMER.INFO.{stream}.{name}")
    drift = _differences(config, found["config"]) if found is not None else ""
    if found is not None and not drift:
        return ""
    if change:
        await _must(client, f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": config})
    if found is None:
        return f"consumer {stream}/{name}: {'made' if change else 'missing'}"
    return f"consumer {stream}/{name}: {'mended' if change else 'differs in'} {drift}"


def _differences(wanted: Config, found: Config) -> str:
    """`key (found, wanted)` of every setting that is not as it should be; the server leaves zero values out."""
    different = (
        f"{key} ({found.get(key)!r}, wanted {value!r})"
        for key, value in wanted.items()
        if found.get(key, _ZERO.get(type(value))) != value
    )
    return ", ".join(different)


_ZERO: dict[type, Any] = {int: 0, bool: False, str: "", list: []}


async def _existing(client: Client, subject: str) -> Config | None:
    """What the server knows of it; None where there is no such thing. Raises ProvisionError."""
    answer = await _api(client, subject, {})
    if answer.get("error", {}).get("err_code") in NOT_THERE:
        return None
    return _good(subject, answer)


def _same_format(found: Config) -> None:
    """Raise ProvisionError for a log that another release stored."""
    try:
        require_format(found)
    except WrongFormat as error:
        raise ProvisionError(str(error)) from error


async def _must(client: Client, subject: str, request: Config) -> None:
    _good(subject, await _api(client, subject, request))


async def _api(client: Client, subject: str, request: Config) -> Config:
    """One request; a cluster that elects a leader, or has only just begun, is asked again. Raises BusDown."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            reply = await client.request(f"$JS.API.{subject}", json.dumps(request).encode(), timeout=ANSWER)
            answer: Config = json.loads(reply.data)
            if answer.get("error", {}).get("err_code") not in (NO_LEADER, NO_PEERS) or time.monotonic() > deadline:
                return answer
        except AMBIGUOUS as error:
            if time.monotonic() > deadline:
                raise BusDown(f"NATS does not answer {subject}: has the cluster a majority of its servers?") from error
        await asyncio.sleep(0.25)


def _good(subject: str, answer: Config) -> Config:
    if error := answer.get("error"):
        hint = HINTS.get(error.get("err_code"), "")
        raise ProvisionError(f"{subject}: {error.get('description')} ({error.get('err_code')}){hint}")
    return answer
