"""`parley plan`: execution plans of the running Parley, made, read, approved and carried out from a terminal."""

# ruff: noqa: PLC0415  imports where they are needed: --help is quick

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from parley.client import Parley
    from parley.client.execution_plans import ExecutionPlans
    from parley.protocol.execution_plans import ExecutionPlan
    from shared.settings import Settings

app = typer.Typer(
    help="Plans that act: made for a request, approved as they stand, carried out.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _task(value: str) -> str:
    """Raises typer.BadParameter: what is no id would ask for another address."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}(\.t[0-9]{1,15})?", value):
        return value
    raise typer.BadParameter(f"“{value}” is no plan's task: `parley plan list` shows yours.")


Task = Annotated[
    str, typer.Argument(metavar="TASK", callback=_task, help="The plan's task, as `parley plan list` tells it.")
]
Url = Annotated[str, typer.Option(help="The gateway, like http://127.0.0.1:8001.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command()
def generate(
    request: Annotated[str, typer.Argument(help="What is to be done, in words.")],
    generator: Annotated[str, typer.Option(help="The plan generator that makes it, instead of the usual one.")] = "",
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Make a plan for a request, or say what has to be known first."""
    if not request.strip():
        raise typer.BadParameter("say what is to be done")
    _shows(lambda plans: plans.generate(request, generator=generator or None), url, as_json=as_json)


@app.command()
def store(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help='JSON: {"description": …, "steps": […]}')
    ],
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Begin with a plan of your own."""
    own = _read(file)

    async def stored(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.store(own["description"], own["steps"], notes=own.get("notes", ""))

    _shows(stored, url, as_json=as_json)


@app.command("list")
def listing(
    session: Annotated[str, typer.Option(help="Of this session, with those of its earlier tasks.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    as_json: Json = False,
    url: Url = "",
) -> None:
    """My plans, newest first."""

    async def listed(plans: "ExecutionPlans") -> int:
        from cli.plan_layout import aligned
        from cli.visible import print_visible

        page = await plans.list(session_id=session or None, limit=limit)
        if as_json:
            print_visible(page.model_dump_json(indent=1))
            return 0
        rows = [
            (one.task_id, one.status.replace("_", " "), _counted(one.steps, "step"), one.description)
            for one in page.plans
        ]
        for line in aligned(rows, shutil.get_terminal_size().columns if sys.stdout.isatty() else None):
            print_visible(line)
        if page.total > len(rows):
            print_visible(f"{len(rows)} of {page.total}: --limit shows more.")
        if not page.plans:
            print_visible("There are no plans yet: `parley plan generate` makes one.")
        return 0

    _run(listed, url)


@app.command()
def show(task: Task, as_json: Json = False, url: Url = "") -> None:
    """The plan with all its steps, and what has come of them."""
    _shows(lambda plans: plans.get(task), url, as_json=as_json)


@app.command()
def modify(
    task: Task,
    feedback: Annotated[str, typer.Argument(help="What should be different.")],
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Have the planner make another version."""

    async def modified(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.modify(await plans.get(task), feedback)

    _shows(modified, url, as_json=as_json)


@app.command()
def approve(
    task: Task,
    version: Annotated[int, typer.Option(min=1, help="The version that you have seen.")],
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Approve exactly this version, and carry it out."""

    async def approved(plans: "ExecutionPlans") -> "ExecutionPlan":
        from cli.command import Declined

        plan = await plans.get(task)
        if plan.version != version:
            raise Declined(f"Version {plan.version} is the newest, not {version}: look at it, and approve that.")
        return await plans.get((await plans.approve(plan)).task_id, wait=600)

    _shows(approved, url, as_json=as_json)


@app.command()
def answer(
    task: Task,
    text: Annotated[str, typer.Argument(help="The answer; to a form as JSON, or as name=value pairs.")],
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Answer what the plan asks you, and let it go on."""

    async def answered(parley: "Parley") -> int:
        from cli.chat.forms import fields, form_answer
        from cli.command import Declined

        plan = await parley.execution_plans.get(task)
        if not plan.question:
            raise Declined(f"The plan asks nothing now. Look at it: parley plan show {task}")
        session = parley.session(plan.session_id)
        asked = (await session.snapshot()).question
        await session.answer(form_answer(text, fields(asked.form if asked else None)))
        return _show(await parley.execution_plans.get(plan.task_id, wait=600), as_json=as_json)

    _run_all(answered, url)


@app.command()
def execute(task: Task, as_json: Json = False, url: Url = "") -> None:
    """Wait for a plan's result; try a failed one again."""

    async def executed(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.execute(await plans.get(task))

    _shows(executed, url, as_json=as_json)


@app.command()
def cancel(task: Task, as_json: Json = False, url: Url = "") -> None:
    """Discard a plan: what has not begun never will."""

    async def cancelled(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.cancel(await plans.get(task))

    _shows(cancelled, url, as_json=as_json)


@app.command()
def delete(task: Task, url: Url = "") -> None:
    """Delete a plan that does not run; its session and journal stay."""

    async def deleted(plans: "ExecutionPlans") -> int:
        await plans.delete(await plans.get(task))
        return 0

    _run(deleted, url)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _read(file: Path) -> dict[str, Any]:
    """Raises typer.BadParameter."""
    try:
        own = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file} cannot be read as JSON: {error}") from None
    if not isinstance(own, dict) or not own.get("description") or not own.get("steps"):
        raise typer.BadParameter(f'{file} is no plan: write {{"description": "…", "steps": [{{"text": …}}]}}')
    return own


def _shows(ask: "Callable[[ExecutionPlans], Awaitable[ExecutionPlan]]", url: str, *, as_json: bool) -> None:
    """Print the plan that comes of it, and what can be done with it."""

    async def shown(plans: "ExecutionPlans") -> int:
        return _show(await ask(plans), as_json=as_json)

    _run(shown, url)


def _show(plan: "ExecutionPlan", *, as_json: bool) -> int:
    """Print it; 1 where it failed."""
    from cli.visible import print_visible

    print_visible(plan.model_dump_json(indent=1) if as_json else told(plan))
    return 1 if plan.status == "failed" or plan.problem else 0


def told(plan: "ExecutionPlan") -> str:
    """The plan as it stands, and what to type next."""
    from cli.plan_layout import WIDEST, plan_text

    task, width = plan.task_id, min(shutil.get_terminal_size().columns, WIDEST)
    parts = [plan_text(plan, width)]
    if plan.problem:
        parts.append(f"It could not go on: {plan.problem}")
    if plan.question:
        parts.append(f'{plan.question}\nAnswer it: parley plan answer {task} "…"')
    if plan.status == "pending_approval":
        parts.append(
            f'Approve it: parley plan approve {task} --version {plan.version}\nChange it: parley plan modify {task} "…"'
        )
    elif plan.result and not plan.working:
        first = plan.result.partition("\n\n")[0]
        parts.append(textwrap.fill(first, width))  # the rest says of each step what stands there already
    if plan.status == "failed":
        parts.append(f'Try again: parley plan execute {task}\nChange it: parley plan modify {task} "…"')
    if plan.status == "paused":
        parts.append(f"Go on: parley plan execute {task}")
    if plan.status == "executing" and not plan.working and not plan.question:
        waits = [step for step in plan.steps if step.until]
        asks = f"A change needs your approval: parley chat --session {plan.session_id}"
        parts.append(f"It goes on by itself. Its result: parley plan execute {task}" if waits else asks)
    return "\n\n".join(part for part in parts if part)


def _run(work: "Callable[[ExecutionPlans], Awaitable[int]]", url: str) -> None:
    _run_all(lambda parley: work(parley.execution_plans), url)


def _run_all(work: "Callable[[Parley], Awaitable[int]]", url: str) -> None:
    from cli import main
    from cli.command import Declined
    from cli.gateway import explained, find_gateway
    from parley.client import Parley, ParleyError

    async def command(settings: "Settings") -> int:
        gateway = find_gateway(settings, url)
        try:
            async with Parley(gateway.url, token=gateway.token, patience=3) as parley:
                return await work(parley)
        except ParleyError as error:
            more = "\nYour plans: parley plan list" if error.code == "not_found" else ""
            raise Declined(explained(error) + more) from error

    main._run("plan", command)
