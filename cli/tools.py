"""`parley tools`: a world's tools as a table for people, or over JSON lines for programs that drive a world.

One request a line, one answer a line: {"op": "reset"} gives {"ok": true}; {"tool": …, "arguments": {…}} gives
{"result": …}; {"op": "dump"} gives {"data": {…}}; anything else gives {"error": …}, and the next line is read.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

from packs.retail.data import Data, load
from packs.retail.specs import SPECS
from packs.retail.store import World, Worlds


def show() -> int:
    """Print each tool with its parameters, and what it is for."""
    for spec in SPECS:
        parameters = spec.parameters["properties"]
        names = ", ".join(parameters) if isinstance(parameters, dict) else ""
        print(f"{spec.name}({names})  {spec.effect}\n    {spec.description}")
    return 0


def drive(folder: Path | None) -> int:
    """Serve stdin and stdout. A reader that goes away ends it."""
    try:
        return asyncio.run(serve(base(folder), sys.stdin.buffer, sys.stdout.buffer))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to be said at exit
        return 0


def base(folder: Path | None) -> Callable[[], Data]:
    """The world's initial data: from this folder, or the generated ones."""
    if folder is not None:
        return lambda: load(folder)
    from packs.retail.generate import generate  # noqa: PLC0415  takes a moment to make

    return generate


async def serve(data: Callable[[], Data], requests: Iterable[bytes], answers: BinaryIO) -> int:
    """Answer one line after another, over a world in memory of its own."""
    worlds = Worlds("sqlite+aiosqlite://", data, tables=False)
    try:
        await worlds.open()
    except (ValueError, LookupError, TypeError) as error:  # what is not the data of a store, in whatever way
        print(f"parley tools: the data cannot be used: {error}", file=sys.stderr)
        return 2
    try:
        world = worlds.world("lines")
        for line in requests:
            try:
                answer = await _answer(world, line)
            except (ValueError, RecursionError) as error:
                answer = {"error": str(error)}
            answers.write(json.dumps(answer).encode() + b"\n")
            answers.flush()
    finally:
        await worlds.close()
    return 0


async def _answer(world: World, line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except ValueError as error:
        raise ValueError(f"this line is not JSON: {error}") from error
    match request:
        case {"op": "reset"}:
            await world.reset()
            return {"ok": True}
        case {"op": "dump"}:
            return {"data": await world.dump()}
        case {"tool": str(name), **rest} if isinstance(arguments := rest.get("arguments", {}), dict):
            return {"result": await world.call(name, arguments)}
    raise ValueError('a line is {"op": "reset"}, {"op": "dump"} or {"tool": "…", "arguments": {…}}')
