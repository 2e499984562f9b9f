"""The tools there are: a name, what it does to the world, and how it is run."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from pydantic import JsonValue
from pydantic_core import to_json

from shared import sandbox
from shared.domain.session import Session
from shared.events.values import Effect

KEPT = 100_000  # bytes of stdout, and of stderr, that the event of a run carries
Arguments = Mapping[str, JsonValue]


class Result(NamedTuple):
    ok: bool
    value: JsonValue = None
    error: str = ""


class Tool(NamedTuple):
    """`again`: whether it may simply be run again when nobody knows what became of it."""

    effect: Effect
    again: bool
    run: Callable[[Session, Arguments], Awaitable[Result]]


async def run_code(session: Session, arguments: Arguments) -> Result:
    """The approved program in the sandbox; its result: exit_code, stdout, stderr, duration (s), ended, truncated."""
    code = session.code
    if code is None or code.status != "approved" or code.hash != arguments.get("hash"):
        return Result(ok=False, error="The approved code is not the one that was to be run.")
    args, stdin = arguments.get("args"), arguments.get("stdin")
    words = [str(word) for word in args] if isinstance(args, list) else []
    try:
        outcome = await sandbox.run({"program.py": code.code}, args=("program.py", *words), stdin=str(stdin or ""))
    except sandbox.SandboxUnavailable as error:
        return Result(ok=False, error=str(error))
    ok = outcome.ended == "exited" and outcome.exit_code == 0
    return Result(ok, _kept(outcome).model_dump(mode="json"), "" if ok else f"The program ended with {_how(outcome)}.")


def _kept(outcome: sandbox.Outcome) -> sandbox.Outcome:
    """The outcome with as much of its output as an event can hold."""
    stdout, stderr = _beginning(outcome.stdout), _beginning(outcome.stderr)
    cut = (stdout, stderr) != (outcome.stdout, outcome.stderr)
    return outcome.model_copy(update={"stdout": stdout, "stderr": stderr, "truncated": outcome.truncated or cut})


def _beginning(text: str) -> str:
    """As many of the first characters as need no more than `KEPT` bytes of JSON."""
    while (size := len(to_json(text))) > KEPT:
        text = text[: len(text) * KEPT // size]
    return text


def _how(outcome: sandbox.Outcome) -> str:
    return f"exit code {outcome.exit_code}" if outcome.ended == "exited" else outcome.ended.replace("_", " ")


TOOLS: Mapping[str, Tool] = {"run_code": Tool("read", again=True, run=run_code)}
