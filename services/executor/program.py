"""The tool that runs the session's approved program in the sandbox."""

from pydantic_core import to_json

from services.executor.tools import Call, Result, Tool
from shared import sandbox
from shared.tools import ToolSpec

KEPT = 100_000  # bytes of stdout, and of stderr, that the event of a run carries
SPEC = ToolSpec(
    name="run_code",
    description="Run the program that was approved in this session in the sandbox, and return what it printed.",
    parameters={
        "type": "object",
        "properties": {
            "code_version": {"type": "integer", "description": "The approved version of the code."},
            "hash": {"type": "string", "description": "SHA-256 of the approved code."},
            "stdin": {"type": "string"},
            "args": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["hash"],
        "additionalProperties": False,
    },
    effect="read",  # none outside its scratch folder
)


async def run_code(call: Call) -> Result:
    """The approved program in the sandbox; its result: exit_code, stdout, stderr, duration (s), ended, truncated."""
    code, arguments = call.session.code, call.arguments
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


RUN_CODE = Tool(SPEC, run_code, seconds=120, largest=3 * KEPT)
