"""Floods of WebSocket frames: the socket closes with a reason, and the gateway stays responsive."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from services.gateway.live.http_protocol import MAX_FRAME_BYTES
from services.gateway.live.websocket_protocol import FRAMES_PER_SECOND, MAX_FRAGMENTS
from tests.support.gateway import Client, World, client, serving

FLOOD = 64 * 1024  # bytes


@asynccontextmanager
async def connected(**options: Any) -> AsyncIterator[tuple[Client, World]]:
    world = World()
    async with serving(world.app) as address, client(address, **options) as peer:
        yield peer, world


async def _closed(peer: Client) -> tuple[int, str]:
    """The code and reason with which the gateway closes the socket."""
    code = await peer.closed()
    assert code
    return code, peer.connection.close_reason or ""


def _frames(opcode: Opcode, data: bytes = b"", *, fin: bool = True) -> bytes:
    """As many frames as fit into `FLOOD` bytes."""
    frame = Frame(opcode, data, fin).serialize(mask=True)
    return frame * (FLOOD // len(frame))


FLOODS = {
    "empty fragments": Frame(Opcode.TEXT, b"", fin=False).serialize(mask=True) + _frames(Opcode.CONT, fin=False),
    "pings": _frames(Opcode.PING),
    "pongs": _frames(Opcode.PONG, b"x" * 20),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_too_many_frames_in_a_second_close_the_socket(flood: bytes) -> None:
    async with connected() as (peer, _):
        peer.connection.transport.write(flood)
        code, reason = await _closed(peer)
        assert code == 1008
        assert reason in {
            f"more than {FRAMES_PER_SECOND} frames in a second",
            f"a message in more than {MAX_FRAGMENTS} frames",  # on a machine that reads them over more than a second
        }


async def test_too_many_fragments_of_a_message_close_the_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.gateway.live.websocket_protocol.FRAMES_PER_SECOND", 1_000_000)
    async with connected() as (peer, _):
        peer.connection.transport.write(FLOODS["empty fragments"])
        assert await _closed(peer) == (1008, f"a message in more than {MAX_FRAGMENTS} frames")


async def test_messages_are_read_no_faster_than_they_are_refused() -> None:
    async with connected() as (peer, world):
        peer.connection.transport.write(_frames(Opcode.TEXT, b"{}"))
        for _ in range(20):
            await peer.until("error", code="slow_down")
        unread = FLOOD // len(Frame(Opcode.TEXT, b"{}").serialize(mask=True)) - len(peer.received)
        assert unread > FLOOD // 20, "the gateway has read the whole message"
        await world.story("s").plan()  # the gateway still works


async def test_a_fragmented_message_is_one_message() -> None:
    async with connected(compression=None) as (peer, _):
        text = '{"type": "user_message", "content": "' + "A calculator. " * 100 + '"}'
        await peer.connection.send(text[at : at + 2] for at in range(0, len(text), 2))
        await peer.event("message.received")


async def test_the_size_limit_applies_to_decompressed_messages() -> None:
    async with connected() as (peer, _):
        await peer.connection.send("x" * (50 * MAX_FRAME_BYTES))
        assert (await _closed(peer))[0] == 1009
