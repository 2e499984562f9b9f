"""Replies about paths that no planner can use, in turns: for tests of what becomes of a request then."""

from collections.abc import Sequence
from typing import Any

PROSE = "First look around, then do what is needed, and tell everybody."


def spoilt(reply: dict[str, Any], turn: int) -> dict[str, Any] | str:
    """The reply with unknown nodes, then in the wrong order, then with no way to its end, then as plain prose."""
    paths = reply.get("paths") or [{"flow": "nowhere", "nodes": ["begin", "end"]}]
    match turn % 4:
        case 0:
            broken = [{**one, "nodes": ["look_into_crystal_ball", *one["nodes"]]} for one in paths]
        case 1:
            broken = [{**one, "nodes": _turned(one["nodes"])} for one in paths]
        case 2:
            broken = [{**one, "nodes": one["nodes"][:-1] or ["nothing"]} for one in paths]
        case _:
            return PROSE
    return {**reply, "question": None, "paths": broken}


def _turned(nodes: Sequence[str]) -> list[str]:
    """Backwards; a single node twice, which is as wrong."""
    return list(reversed(nodes)) if len(nodes) > 1 else [*nodes, *nodes]
