"""`parley plan`: execution plans of the running Parley, made, read, approved and carried out from a terminal."""

# ruff: noqa: PLC0415  imports where they are needed: --help is quick

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from parley.client.execution_plans import ExecutionPlans
    from parley.protocol.execution_plans import ExecutionPlan
    from shared.settings import Settings

app = typer.Typer(
    help="Plans that act: made for a request, approved as they stand, carried out.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Task = Annotated[str, typer.Argument(metavar="TASK", help="The plan's task, as `parley plan list` tells it.")]
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
        from cli.visible import print_visible

        page = await plans.list(session_id=session or None, limit=limit)
        if as_json:
            print_visible(page.model_dump_json(indent=1))
            return 0
        for one in page.plans:
            status = one.status.replace("_", " ")
            print_visible(
                f"{one.task_id}  {status}  {one.steps} step{'' if one.steps == 1 else 's'}  {one.description}"
            )
        if not page.plans:
            print_visible("There are no plans yet: `parley plan generate` makes one.")
        return 0

    _run(listed, url)


@app.command()
def show(task: Task, as_json: Json = False, url: Url = "") -> None:
    """The plan with all its steps, and what has come of them."""
    _shows(lambda plans: plans.get(task), url, as_json=as_json)


@app.command()
def diff(
    task: Task,
    old: Annotated[int, typer.Option("--from", min=0, help="A version; without it, the one before the last.")] = 0,
    new: Annotated[int, typer.Option("--to", min=0, help="A version; without it, the last one.")] = 0,
    url: Url = "",
) -> None:
    """The versions of a plan, who made them and why, and what changed between two of them."""

    async def compared(plans: "ExecutionPlans") -> int:
        from cli.plan_diff import changes, origin
        from cli.visible import print_visible

        plan = await plans.get(task)
        versions = await plans.versions(plan)
        print_visible("\n".join(origin(one) for one in versions) or "There is no version yet.")
        if len(versions) > 1 or old or new:
            last = [one.version for one in versions][-2:]
            found = await plans.diff(plan, old or last[0], new or last[-1])
            print_visible("\n" + "\n".join(changes(found)))
        return 0

    _run(compared, url)


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
    """Approve exactly this version, carry it out, and show what came of it."""

    async def approved(plans: "ExecutionPlans") -> "ExecutionPlan":
        from cli.command import Declined

        plan = await plans.get(task)
        if plan.version != version:
            raise Declined(f"Version {plan.version} is the newest, not {version}: look at it, and approve that.")
        return await plans.get((await plans.approve(plan)).task_id, wait=600)

    _shows(approved, url, as_json=as_json)


@app.command()
def execute(task: Task, as_json: Json = False, url: Url = "") -> None:
    """Wait for the result of an approved plan; one that was stopped, or that failed, goes on."""

    async def executed(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.execute(await plans.get(task))

    _shows(executed, url, as_json=as_json)


@app.command()
def skip(  # noqa: PLR0913, PLR0917  one argument an option
    task: Task,
    step: Annotated[str, typer.Argument(metavar="STEP", help="The id of the step, like s2.")],
    output: Annotated[str | None, typer.Option(help="Its output instead: JSON, or else text.")] = None,
    with_dependents: Annotated[bool, typer.Option(help="Skip the steps that use its output, too.")] = False,
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Leave a step out, with an output in its place or with the steps that use its output."""
    from cli.given_output import read_output

    try:
        given = None if output is None else read_output(output)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from None

    async def skipped(plans: "ExecutionPlans") -> "ExecutionPlan":
        plan = await plans.get(task)
        return await plans.skip(plan, step, output=given, with_dependents=with_dependents, wait=None)

    _shows(skipped, url, as_json=as_json)


@app.command()
def cancel(task: Task, as_json: Json = False, url: Url = "") -> None:
    """Give a plan up: what has not begun is not done any more, and what runs ends."""

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
        from cli.visible import print_visible

        plan = await ask(plans)
        print_visible(plan.model_dump_json(indent=1) if as_json else told(plan))
        return 1 if plan.status == "failed" or plan.problem else 0

    _run(shown, url)


def told(plan: "ExecutionPlan") -> str:
    task = plan.task_id
    parts = [plan.text.rstrip()]
    if plan.problem:
        parts.append(f"It could not go on: {plan.problem}")
    if plan.reply:
        parts.append(plan.reply)
    if plan.question:
        parts.append(f'{plan.question}\nAnswer: parley plan modify {task} "…"')
    if plan.status == "pending_approval":
        parts.append(
            f'Approve it: parley plan approve {task} --version {plan.version}\nChange it: parley plan modify {task} "…"'
        )
    elif plan.result and not plan.working:
        parts.append(plan.result)
    if plan.status in ("failed", "paused"):
        parts.append(f"Go on: parley plan execute {task}\nLeave a step out: parley plan skip {task} STEP")
    if plan.status == "cancelled":
        parts.append(plan.progress.text)
    if plan.status == "executing" and not plan.working:
        parts.append(f"It asks you something: parley chat --session {plan.session_id}")
    return "\n\n".join(part for part in parts if part)


def _run(work: "Callable[[ExecutionPlans], Awaitable[int]]", url: str) -> None:
    from cli import main
    from cli.command import Declined
    from cli.gateway import explained, find_gateway
    from parley.client import Parley, ParleyError

    async def command(settings: "Settings") -> int:
        gateway = find_gateway(settings, url)
        try:
            async with Parley(gateway.url, token=gateway.token, patience=3) as parley:
                return await work(parley.execution_plans)
        except ParleyError as error:
            raise Declined(explained(error)) from error

    main._run("plan", command)
