"""Parley from Python: `Parley` speaks to a running one, `TaskGenerator` has it make test tasks. It holds no model.

async with Parley("http://127.0.0.1:8001", token=...) as parley:
    session = await parley.start("Cancel order #W1 …", workflow="agentflow")
    shown = await session.wait()
"""

from typing import TYPE_CHECKING, Any

from sdk.client import Parley as Parley
from sdk.client import Session as Session
from sdk.connection import Connection as Connection
from sdk.errors import NotAllowed as NotAllowed
from sdk.errors import ParleyDown as ParleyDown
from sdk.errors import ParleyError as ParleyError
from sdk.errors import Refused as Refused

if TYPE_CHECKING:
    from sdk.tasks import TaskGenerator as TaskGenerator


def __getattr__(name: str) -> Any:
    """`TaskGenerator` brings the whole sample store along: it is imported when it is asked for."""
    if name != "TaskGenerator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sdk.tasks import TaskGenerator  # noqa: PLC0415

    return TaskGenerator
