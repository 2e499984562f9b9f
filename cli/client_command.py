"""Commands that are clients of the gateway: an asynchronous function becomes a command with `--json` and `--url`."""

# ruff: noqa: PLC0415  deferred imports, so that --help is quick

import inspect
import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import update_wrapper
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, NamedTuple

import typer

from cli.command import run_with_settings

if TYPE_CHECKING:
    from pydantic import BaseModel

    from parley.client import Parley
    from parley.protocol.execution_plans import ExecutionPlan
    from shared.settings import Settings

Url = Annotated[str, typer.Option(help="The gateway, like http://127.0.0.1:8001.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class CommandOutput(NamedTuple):
    """What a command prints: `model` with --json, otherwise `text`; and `problems` to stderr."""

    text: str = ""
    model: "BaseModel | None" = None
    problems: Sequence[str] = ()
    exit_code: int = 0


def plan_output(plan: "ExecutionPlan", changes: str = "") -> CommandOutput:
    """The plan, what to type next, and `changes`. Exit code 1 if the plan has failed."""
    from cli.talk.plan_rendering import MAX_WIDTH, describe

    text = describe(plan, min(shutil.get_terminal_size().columns, MAX_WIDTH))
    has_failed = plan.status == "failed" or bool(plan.problem)
    return CommandOutput("\n\n".join(filter(None, (text, changes))), plan, exit_code=int(has_failed))


def rows_text(rows: Sequence[Sequence[str]]) -> str:
    """Rows in aligned columns, cut to the width of a terminal."""
    from cli.talk.plan_rendering import align_columns

    return "\n".join(align_columns(rows, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))


def client_command[**P](
    app: typer.Typer, group: str, name: str | None = None, *, has_json: bool = True
) -> Callable[[Callable[Concatenate["Parley", P], Awaitable[CommandOutput]]], None]:
    """Add a function as a command of `parley {group}`. It gets a client, and its other parameters are the options.

    It gets `as_json` only if it has a parameter of this name.
    """

    def add(function: Callable[Concatenate["Parley", P], Awaitable[CommandOutput]]) -> None:
        def command(*, url: str, as_json: bool = False, **arguments: Any) -> None:
            passed = arguments | ({"as_json": as_json} if "as_json" in own else {})
            _run(lambda parley: function(parley, **passed), group, url=url, as_json=as_json)  # type: ignore[call-arg]

        _, *parameters = inspect.signature(function).parameters.values()
        own = [parameter.name for parameter in parameters]
        added: tuple[tuple[str, Any, Any], ...] = (("as_json", Json, False), ("url", Url, ""))
        parameters += [
            inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for option, kind, default in added
            if option not in own and (has_json or option != "as_json")
        ]
        update_wrapper(command, function)
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        app.command(name)(command)

    return add


def _run(work: "Callable[[Parley], Awaitable[CommandOutput]]", group: str, *, url: str, as_json: bool) -> None:
    """Run the command and print its output. If something is not found, the error names the group's `list`."""
    from cli.command import Declined
    from cli.gateway import explain, find_gateway
    from cli.text import print_visible
    from parley.client import Parley, ParleyError

    async def command(settings: "Settings") -> int:
        gateway = find_gateway(settings, url)
        try:
            async with Parley(gateway.url, token=gateway.token, timeout=3) as parley:
                output = await work(parley)
        except ParleyError as error:
            advice = f"\nYours: parley {group} list" if error.code == "not_found" else ""
            raise Declined(explain(error) + advice) from error
        text = output.model.model_dump_json(indent=1) if as_json and output.model else output.text
        if text:
            print_visible(text)
        for problem in output.problems:
            typer.echo(problem, err=True)
        return output.exit_code

    run_with_settings(group, command)
