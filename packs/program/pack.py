"""Two tools that run programs in the sandbox: the session's approved program, and programs in a plan's steps."""

import json
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic_core import from_json, to_json

from parley import Context, Failed, Pack, Refused, tool
from shared import sandbox
from shared.repair.schema import is_finite

MAX_OUTPUT = 100_000  # bytes of stdout, and of stderr, in the event of a run
PYTHON = "text/x-python"
MAX_CODE = 50_000  # characters of a step's program
MAX_DATA = 16_000_000  # bytes of session files per run


class RunCode(BaseModel):
    """Which program, and what it is given."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    code_version: Annotated[int | None, Field(description="The approved version of the code.")] = None
    hash: Annotated[str, Field(description="SHA-256 of the approved code.")]
    stdin: str = ""
    args: list[str] = Field(default_factory=list)


@tool(seconds=120, largest=3 * MAX_OUTPUT, offered=False)  # a read: its output files are discarded
async def run_code(arguments: RunCode, context: Context) -> sandbox.RunResult:
    """Run the program that was approved in this session in the sandbox, and return what it printed."""
    program = context.program
    if program is None or program.hash != arguments.hash:
        raise Failed("The approved code is not the one that was to be run.")
    args = ("program.py", *arguments.args)
    try:
        outcome = _truncated(await sandbox.run({"program.py": program.code}, args=args, stdin=arguments.stdin))
    except sandbox.SandboxUnavailable as error:
        raise Failed(str(error)) from error
    if outcome.ended != "exited" or outcome.exit_code != 0:
        raise Failed(f"The program ended with {_ending(outcome)}.", result=outcome)
    return outcome


class RunProgram(BaseModel):
    """A program and what it is given."""

    model_config = ConfigDict(extra="forbid")

    code: Annotated[
        str,
        Field(
            description="A Python program. It reads its inputs as JSON from stdin, and prints its result as JSON.",
            min_length=1,
            max_length=MAX_CODE,
            json_schema_extra={"contentMediaType": PYTHON, "x-kind": "code"},
        ),
    ]
    inputs: Annotated[
        dict[str, JsonValue],
        Field(
            description="What stdin holds, as one JSON object.",
            default_factory=dict,
            json_schema_extra={"x-kind": "text"},
        ),
    ]
    files: Annotated[
        list[str], Field(description="Session files to copy; the program opens files/NAME.", max_length=50)
    ] = Field(default_factory=list)


@tool(seconds=120, largest=3 * MAX_OUTPUT, confirm="it runs a program")
async def run_program(call: RunProgram, context: Context) -> JsonValue:
    """Run a Python program in a sandbox: the standard library only, no network, ten seconds.

    The result is what it prints: JSON as its value, anything else as text.
    """
    data = {name: await files.read(name) for name in call.files} if (files := context.files) else {}
    if sum(map(len, data.values())) > MAX_DATA:
        raise Refused(f"a program sees at most {MAX_DATA:,} bytes of files")
    stdin = json.dumps(call.inputs, ensure_ascii=False)
    try:
        outcome = await sandbox.run({"program.py": call.code}, stdin=stdin, data=data)
    except sandbox.SandboxUnavailable as error:
        raise Failed(str(error)) from error
    if outcome.ended != "exited" or outcome.exit_code != 0:
        last = outcome.stderr.strip().rpartition("\n")[2]
        raise Failed(f"The program ended with {_ending(outcome)}. {last}".strip()[:1_000], result=_truncated(outcome))
    return _value(outcome.stdout)


def _value(printed: str) -> JsonValue:
    """The printed JSON value; the printed text if it is none, or has half a character or an infinite number."""
    try:
        value: JsonValue = from_json(printed, allow_inf_nan=False)
    except ValueError:
        return printed
    return value if is_finite(value) else printed


def _truncated(outcome: sandbox.RunResult) -> sandbox.RunResult:
    """The outcome with its output cut to what an event can hold."""
    stdout, stderr = _beginning(outcome.stdout), _beginning(outcome.stderr)
    cut = (stdout, stderr) != (outcome.stdout, outcome.stderr)
    return outcome.model_copy(update={"stdout": stdout, "stderr": stderr, "truncated": outcome.truncated or cut})


def _beginning(text: str) -> str:
    """The beginning of the text that fits into MAX_OUTPUT bytes of JSON."""
    while (size := len(to_json(text))) > MAX_OUTPUT:
        text = text[: len(text) * MAX_OUTPUT // size]
    return text


def _ending(outcome: sandbox.RunResult) -> str:
    return f"exit code {outcome.exit_code}" if outcome.ended == "exited" else outcome.ended.replace("_", " ")


pack = Pack("program", [run_code, run_program])
