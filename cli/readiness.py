"""Tells when all programs of `parley up` are ready, and what is missing until then."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urlsplit

from cli.supervisor import SupervisedProgram

STARTUP_INTERVAL, INTERVAL = 0.05, 2.0  # seconds between two checks, until everything is ready and afterwards
REPORT_AFTER = 60.0  # seconds until missing programs are reported


class HttpReply(NamedTuple):
    """An HTTP response; status 0 and the reason if there was none."""

    status: int
    text: str


def http_get(url: str, *, timeout: float = 2.0, headers: Mapping[str, str] | None = None) -> HttpReply:
    """GET `url`. Blocks for at most `timeout` seconds per socket operation. Never raises for network errors."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    with closing(kind(parts.hostname or "", parts.port, timeout=timeout)) as client:
        try:
            client.request("GET", parts.path or "/", headers=headers or {})
            answer = client.getresponse()
            return HttpReply(answer.status, answer.read(100_000).decode(errors="replace"))
        except (OSError, HTTPException) as error:
            return HttpReply(0, str(error) or type(error).__name__)


def describe_reply(reply: HttpReply) -> str:
    """What a response other than 200 reports as missing, on one line."""
    try:
        body = json.loads(reply.text)
    except ValueError:
        return reply.text.strip()[:200]
    parts = body.get("checks", body.get("missing", body)) if isinstance(body, dict) else body
    if isinstance(parts, dict):
        return ", ".join(f"{name}: {why}" for name, why in parts.items() if why != "ok")
    return ", ".join(map(str, parts)) if isinstance(parts, list) else str(parts)


async def missing_programs(children: Iterable[SupervisedProgram], urls: Mapping[str, str]) -> list[str]:
    """The programs that are not ready, each in a few words.

    A program with a URL in `urls` is ready when that answers 200, any other when its log says so.
    """
    not_ready = [
        child.program.name for child in children if child.program.name not in urls and not child.ready.is_set()
    ]
    replies = await asyncio.gather(*(asyncio.to_thread(http_get, url) for url in urls.values()))
    return not_ready + [
        f"{name} ({describe_reply(reply)})" for name, reply in zip(urls, replies, strict=True) if reply.status != 200
    ]


async def watch(
    look: Callable[[], Awaitable[list[str]]], *, ready: Callable[[], None], say: Callable[[str], None]
) -> None:
    """Call `ready` once nothing is missing. `say` what is missing after a minute, and whenever it changes later."""
    loop = asyncio.get_running_loop()
    say_at, was_up, last_said = loop.time() + REPORT_AFTER, False, ""
    while True:
        absent = ", ".join(await look())
        if not absent and not was_up:
            was_up, last_said = True, ""
            ready()
        elif (was_up or loop.time() >= say_at) and absent != last_said:
            last_said = absent
            say(f"not ready: {absent}; waiting" if absent else "ready again")
        await asyncio.sleep(INTERVAL if was_up else STARTUP_INTERVAL)
