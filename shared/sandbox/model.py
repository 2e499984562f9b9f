"""The sandbox's limits, outcome and error."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt

MB = 1024 * 1024

type Ending = Literal["exited", "timeout", "output_limit", "memory_limit", "disk_limit", "killed"]


class SandboxUnavailable(Exception):
    """A program was not run, because this system lacks what the sandbox needs. The text says what."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}. The code is not run here; it can be downloaded and run elsewhere.")


class Limits(BaseModel):
    """The resources of one run.

    wall: seconds from the program's first line. cpu: seconds over all threads. memory: bytes of address space.
    output: bytes for stdout and for stderr. disk: bytes in its folder; one file may hold seven eighths of it.
    threads: how many beside the main thread (an ordinary user's other processes loosen this bound up to twofold).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    wall: PositiveFloat = 10.0
    cpu: PositiveInt = 8
    memory: PositiveInt = 512 * MB
    output: PositiveInt = 200_000
    disk: PositiveInt = 32 * MB
    threads: PositiveInt = 32


class RunResult(BaseModel):
    """How a run ended.

    exit_code: the program's own; None if it was stopped. `ended` says by what: `timeout` is wall clock or CPU,
    `memory_limit` an unhandled MemoryError (with its exit code), `killed` a signal such as a crash of the interpreter.
    stdout, stderr: at most the limit of bytes each, decoded as UTF-8 with replacement; `truncated` if there was more.
    duration: seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    exit_code: int | None
    stdout: str
    stderr: str
    duration: float
    ended: Ending
    truncated: bool
