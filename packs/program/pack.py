"""The tool that runs the session's approved program in the sandbox."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from parley import Context, Failed, Pack, tool
from shared import sandbox

KEPT = 100_000  # bytes of stdout, and of stderr, that the event of a run carries


class RunCode(BaseModel):
    """Which program, and what it is given."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    code_version: Annotated[int | None, Field(description="The approved version of the code.")] = None
    hash: Annotated[str, Field(description="SHA-256 of the approved code.")]
    stdin: str = ""
    args: list[str] = Field(default_factory=list)


@tool(seconds=120, largest=3 * KEPT)  # it only reads: what it writes stays in its scratch folder
async def run_code(arguments: RunCode, context: Context) -> sandbox.Outcome:
    """Run the program that was approved in this session in the sandbox, and return what it printed."""
    program = context.program
    if program is None or program.hash != arguments.hash:
        raise Failed("The approved code is not the one that was to be run.")
    args = ("program.py", *arguments.args)
    try:
        outcome = _kept(await sandbox.run({"program.py": program.code}, args=args, stdin=arguments.stdin))
    except sandbox.SandboxUnavailable as error:
        raise Failed(str(error)) from error
    if outcome.ended != "exited" or outcome.exit_code != 0:
        raise Failed(f"The program ended with {_how(outcome)}.", result=outcome)
    return outcome


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


pack = Pack("program", [run_code])
