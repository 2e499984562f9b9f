"""When is everything up, and if not, what is missing?"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import NamedTuple
from urllib.parse import urlsplit

from cli.supervisor import Child

EVERY, EVERY_LATER = 0.05, 2.0  # seconds between two looks, before and after everything was up for the first time
PATIENCE = 60.0  # seconds until it is said what is missing


class Reply(NamedTuple):
    """An HTTP answer; status 0 and the reason where there was none."""

    status: int
    text: str


def get(url: str, *, timeout: float = 2.0, headers: Mapping[str, str] | None = None) -> Reply:
    """GET `url`, blocking for at most `timeout` seconds a step; never raises for what the other side does."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    with closing(kind(parts.hostname or "", parts.port, timeout=timeout)) as client:
        try:
            client.request("GET", parts.path or "/", headers=headers or {})
            answer = client.getresponse()
            return Reply(answer.status, answer.read(100_000).decode(errors="replace"))
        except (OSError, HTTPException) as error:
            return Reply(0, str(error) or type(error).__name__)


def in_words(reply: Reply) -> str:
    """What an answer that is not a 200 says is missing, on one line."""
    try:
        body = json.loads(reply.text)
    except ValueError:
        return reply.text.strip()[:200]
    named = body.get("missing", body) if isinstance(body, dict) else body
    if isinstance(named, dict):
        return ", ".join(f"{name}: {why}" for name, why in named.items())
    return ", ".join(map(str, named)) if isinstance(named, list) else str(named)


async def missing(children: Iterable[Child], urls: Mapping[str, str]) -> list[str]:
    """What is not up, each in a few words; empty when everything is.

    A program with a URL in `urls` is up when that answers 200, another when its log says so.
    """
    silent = [child.program.name for child in children if child.program.name not in urls and not child.ready.is_set()]
    replies = await asyncio.gather(*(asyncio.to_thread(get, url) for url in urls.values()))
    return silent + [
        f"{name} ({in_words(reply)})" for name, reply in zip(urls, replies, strict=True) if reply.status != 200
    ]


async def watch(
    look: Callable[[], Awaitable[list[str]]], *, ready: Callable[[], None], say: Callable[[str], None]
) -> None:
    """Call `ready` once when nothing is missing, and say what is: after a minute, and when that changes later."""
    loop = asyncio.get_running_loop()
    say_at, was_up, told = loop.time() + PATIENCE, False, ""
    while True:
        absent = ", ".join(await look())
        if not absent and not was_up:
            was_up, told = True, ""
            ready()
        elif (was_up or loop.time() >= say_at) and absent != told:
            told = absent
            say(f"not ready: {absent}; waiting" if absent else "ready again")
        await asyncio.sleep(EVERY_LATER if was_up else EVERY)
