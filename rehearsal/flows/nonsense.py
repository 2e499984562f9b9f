"""Unusable replies to the task `path`, for tests of what Parley does about them."""

from collections.abc import Sequence
from typing import Any

PROSE = "First look around, then do what is needed, and tell everybody."


def spoilt(reply: dict[str, Any], turn: int) -> dict[str, Any] | str:
    """By `turn`: the reply with an unknown node, in the wrong order, without its end, or as plain prose."""
    paths = reply["reply"].get("paths") or [{"flow": "nowhere", "nodes": ["begin", "end"]}]
    match turn % 4:
        case 0:
            broken = [{**one, "nodes": ["look_into_crystal_ball", *one["nodes"]]} for one in paths]
        case 1:
            broken = [{**one, "nodes": _reversed(one["nodes"])} for one in paths]
        case 2:
            broken = [{**one, "nodes": one["nodes"][:-1] or ["nothing"]} for one in paths]
        case _:
            return PROSE
    return {"reply": {"kind": "path", "reasoning": "", "paths": broken, "new_node": None}}


def _reversed(nodes: Sequence[str]) -> list[str]:
    """The nodes backwards; a single node twice, which is as wrong."""
    return list(reversed(nodes)) if len(nodes) > 1 else [*nodes, *nodes]
