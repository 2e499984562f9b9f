"""`parley tools`: the retail world's tools as a list for people, or over JSON lines for programs that drive the world.

Each request and each answer is a line. {"op": "reset"} gives {"ok": true}; {"tool": …, "arguments": {…}} gives
{"result": …}; {"op": "dump"} gives {"data": {…}}. Anything else gives {"error": …}, and the next line is read.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO

from packs.retail.records import Data, load
from packs.retail.specs import SPECS
from packs.retail.store import World, Worlds


def show() -> int:
    """Print each tool with its parameters and description."""
    for spec in SPECS:
        parameters = spec.parameters["properties"]
        names = ", ".join(parameters) if isinstance(parameters, dict) else ""
        print(f"{spec.name}({names})  {spec.effect}\n    {spec.description}")
    return 0


def drive(folder: Path | None) -> int:
    """Serve stdin and stdout until stdin ends or stdout is closed."""
    try:
        return asyncio.run(serve(initial_data(folder), sys.stdin.buffer, sys.stdout.buffer))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that flushing at exit does not fail
        return 0


def initial_data(folder: Path | None) -> Callable[[], Data]:
    """A function that returns the world's initial data: from this folder, or generated."""
    if folder is not None:
        return lambda: load(folder)
    from packs.retail.generate import generate  # noqa: PLC0415  slow to import

    return generate


async def serve(data: Callable[[], Data], requests: Iterable[bytes], answers: BinaryIO) -> int:
    """Answer each line in turn, on a new world in memory."""
    worlds = Worlds("sqlite+aiosqlite://", data, tables=False)
    try:
        await worlds.open()
    except (ValueError, LookupError, TypeError) as error:  # any kind of invalid data
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
