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
PlanApproval = Annotated[
    bool,
    typer.Option(
        "--plan-approval/--no-plan-approval",
        help="Without it the plan runs at once, and each of its calls asks by its own policy.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command()
def generate(
    request: Annotated[str, typer.Argument(help="What is to be done, in words.")],
    generator: Annotated[str, typer.Option(help="The plan generator that makes it, instead of the usual one.")] = "",
    plan_approval: PlanApproval = True,
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Make a plan for a request, or say what has to be known first."""
    chosen = _settings(plan_approval=plan_approval)
    _shows(lambda plans: plans.generate(request, generator=generator or None, settings=chosen), url, as_json=as_json)


@app.command()
def store(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help='JSON: {"description": …, "steps": […]}')
    ],
    plan_approval: PlanApproval = True,
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Begin with a plan of your own."""
    own, chosen = _read(file), _settings(plan_approval=plan_approval)

    async def stored(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.store(own["description"], own["steps"], notes=own.get("notes", ""), settings=chosen)

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
    """The plan with all its steps, what has come of them, and what those to come would change."""

    async def shown(plans: "ExecutionPlans") -> int:
        from cli.plan_text import describe, describe_changes
        from cli.visible import print_visible

        plan = await plans.get(task)
        if as_json:
            print_visible(plan.model_dump_json(indent=1))
        else:
            print_visible(
                "\n\n".join(filter(None, (describe(plan), describe_changes(plan, await plans.previews(plan)))))
            )
        return _code(plan)

    _run(shown, url)


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
def approve(  # noqa: PLR0913, PLR0917  options of the command
    task: Task,
    version: Annotated[int, typer.Option(min=1, help="The version that you have seen.")],
    preapprove: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP", help="Allow this step whatever values its references get. Can be repeated."),
    ] = None,
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Without it, `parley plan execute` starts the plan.")
    ] = True,
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Approve exactly this version, carry it out, and show what came of it."""

    async def approved(plans: "ExecutionPlans") -> "ExecutionPlan":
        from cli.command import Declined

        plan = await plans.get(task)
        if plan.version != version:
            raise Declined(f"Version {plan.version} is the newest, not {version}: look at it, and approve that.")
        begun = await plans.approve(plan, preapprove=preapprove or (), start=start)
        return await plans.get(begun.task_id, wait=600)

    _shows(approved, url, as_json=as_json)


@app.command()
def execute(task: Task, as_json: Json = False, url: Url = "") -> None:
    """Start an approved plan and wait for its result; one that was stopped, or that failed, goes on."""

    async def executed(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.execute(await plans.get(task))

    _shows(executed, url, as_json=as_json)


@app.command()
def cancel(task: Task, as_json: Json = False, url: Url = "") -> None:
    """Do what has not begun no more."""

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
        from cli.plan_text import describe
        from cli.visible import print_visible

        plan = await ask(plans)
        print_visible(plan.model_dump_json(indent=1) if as_json else describe(plan))
        return _code(plan)

    _run(shown, url)


def _code(plan: "ExecutionPlan") -> int:
    return 1 if plan.status == "failed" or plan.problem else 0


def _settings(*, plan_approval: bool) -> dict[str, Any] | None:
    """None: the usual ones."""
    return None if plan_approval else {"require_plan_approval": False}


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
