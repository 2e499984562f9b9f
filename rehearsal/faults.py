"""Faults on request: by the model's name (`rehearsal?fault=429&times=2`), or armed for a task over HTTP."""

import asyncio
from collections import Counter
from typing import Literal, get_args
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field

FaultName = Literal[
    "429",
    "500",
    "timeout",
    "cut",
    "garbled",
    "truncated",
    "invented",
    "html",
    "error200",
    "midstream",
    "refuse_schema",
    "refuse_format",
]
FAULTS: tuple[FaultName, ...] = get_args(FaultName)
Nonsense = Literal["nonsense"]  # a well-formed reply with an invalid path, for the task `path` only


class Fault(BaseModel):
    """What goes wrong, and how often. Without a `fault`, only delays change. All times are in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)

    fault: FaultName | Nonsense | None = None
    task: str | None = Field(None, description="only requests for this task; all where it is not given")
    times: int | None = Field(None, ge=1, description="so many requests, then healthy; for ever where it is not given")
    latency: float = Field(0, ge=0, le=600, description="before the first token")
    token_delay: float | None = Field(None, ge=0, le=60, description="before each chunk, instead of the usual pace")
    pause: bool = Field(False, description="stop in the middle of a streamed reply until the faults are disarmed")
    retry_after: float = Field(0.2, ge=0, le=600, description="what a 429 tells the client to wait")

    def refuses(self, response_format: str | None) -> bool:
        """Whether a request with this `response_format` type is answered 400."""
        if self.fault == "refuse_schema":
            return response_format == "json_schema"
        return self.fault == "refuse_format" and response_format in ("json_schema", "json_object")


HEALTHY = Fault()


class FaultBoard:
    """Selects the fault for each request."""

    def __init__(self) -> None:
        self._armed: list[Fault] = []
        self._used: Counter[int] = Counter()  # by id() of an armed fault, which lives as long as it is armed
        self._named: Counter[str] = Counter()
        self.disarmed = asyncio.Event()  # set by the next `clear`

    @property
    def armed(self) -> list[Fault]:
        """The faults armed over HTTP, the newest last."""
        return list(self._armed)

    def arm(self, fault: Fault) -> None:
        """Apply this fault from now on, whatever the model's name is."""
        self._armed.append(fault)

    def clear(self) -> None:
        """Disarm everything; counts by model name begin anew."""
        self._armed.clear()
        self._used.clear()
        self._named.clear()
        self.disarmed.set()
        self.disarmed = asyncio.Event()

    def pick(self, model: str, task: str) -> Fault:
        """The fault for this request, counted as used. Raises ValueError for an invalid model name."""
        for fault in self._armed:
            if fault.task in (None, task) and not _spent(fault, self._used[id(fault)]):
                self._used[id(fault)] += 1
                return fault
        named = named_fault(model)
        if named.task not in (None, task) or _spent(named, self._named[model]):
            return HEALTHY
        self._named[model] += 1
        return named


def _spent(fault: Fault, used: int) -> bool:
    return fault.times is not None and used >= fault.times


def named_fault(model: str) -> Fault:
    """The fault in a model's name. Raises ValueError if it is invalid."""
    query = model.partition("?")[2]
    return Fault.model_validate(dict(parse_qsl(query, strict_parsing=True))) if query else HEALTHY
