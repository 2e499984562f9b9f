"""Invalid replies to the task `path`, for tests of how Parley handles them."""

from collections.abc import Sequence
from typing import Any

PROSE = "First look around, then do what is needed, and tell everybody."


def invalid_reply(reply: dict[str, Any], turn: int) -> dict[str, Any] | str:
    """By `turn`: the reply with an unknown node, in the wrong order, without its end, or as plain prose."""
    paths = reply["reply"].get("paths") or [{"flow": "nowhere", "nodes": ["begin", "end"]}]
    match turn % 4:
        case 0:
            broken = [{**path, "nodes": ["look_into_crystal_ball", *path["nodes"]]} for path in paths]
        case 1:
            broken = [{**path, "nodes": _reversed(path["nodes"])} for path in paths]
        case 2:
            broken = [{**path, "nodes": path["nodes"][:-1] or ["nothing"]} for path in paths]
        case _:
            return PROSE
    return {"reply": {"kind": "path", "reasoning": "", "paths": broken, "new_node": None}}


def _reversed(nodes: Sequence[str]) -> list[str]:
    """The nodes in reverse; a single node twice, which is also invalid."""
    return list(reversed(nodes)) if len(nodes) > 1 else [*nodes, *nodes]
