"""`parley plan`: generates, shows, approves and executes plans of the running Parley."""

# ruff: noqa: PLC0415  deferred imports, so that --help is quick

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.plan_client import (
    columns,
    plan_exit_code,
    print_plan,
    print_result,
    print_rows,
    run_with_client,
    run_with_plans,
)
from shared.time_zones import own_time_zone

if TYPE_CHECKING:
    from parley.client import Parley
    from parley.client.execution_plans import ExecutionPlans
    from parley.protocol.execution_plans import ExecutionPlan

app = typer.Typer(
    help="Execution plans: generate, edit, approve and execute them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _task(value: str) -> str:
    """Raises typer.BadParameter, because any other text would change the request's path."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,64}(\.t[0-9]{1,15})?", value):
        return value
    raise typer.BadParameter(f"“{value}” is no plan's task: `parley plan list` shows yours.")


Task = Annotated[str, typer.Argument(metavar="TASK", callback=_task, help="The plan's task, as in `parley plan list`.")]
Url = Annotated[str, typer.Option(help="The gateway, like http://127.0.0.1:8001.")]
PlanApproval = Annotated[
    bool,
    typer.Option(
        "--plan-approval/--no-plan-approval",
        help="Without it the plan runs at once, and each call follows its own approval policy.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def generate(  # noqa: PLR0913, PLR0917  one parameter per option
    request: Annotated[str, typer.Argument(help="What to do, in words.")],
    generator: Annotated[str, typer.Option(help="The plan generator; default: the first one that is configured.")] = "",
    plan_approval: PlanApproval = True,
    tool: Annotated[list[str] | None, typer.Option(help="Allow only this tool. Can be repeated.")] = None,
    model: Annotated[str, typer.Option(help="The model; one that is configured.")] = "",
    instructions: Annotated[str, typer.Option(help="Instructions for every version of the plan.")] = "",
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Generate a plan for a request, or print the planner's question."""

    if not request.strip():
        raise typer.BadParameter("say what is to be done")

    async def send(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.generate(
            request,
            generator=generator or None,
            settings=_settings(plan_approval=plan_approval),
            tools=tool,
            model=model or None,
            instructions=instructions or None,
            time_zone=own_time_zone(),
        )

    print_result(send, url, as_json=as_json)


@app.command()
def store(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help='JSON: {"description": …, "steps": […]}')
    ],
    plan_approval: PlanApproval = True,
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Create a plan from a file."""
    document, settings = _read(file), _settings(plan_approval=plan_approval)

    async def send(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.store(
            document["description"], document["steps"], notes=document.get("notes", ""), settings=settings
        )

    print_result(send, url, as_json=as_json)


@app.command("list")
def listing(
    session: Annotated[str, typer.Option(help="Only of this session, with those of its earlier tasks.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
    as_json: Json = False,
    url: Url = "",
) -> None:
    """List your plans, newest first."""

    async def run(plans: "ExecutionPlans") -> int:
        from cli.text import counted, print_visible

        page = await plans.list(session_id=session or None, limit=limit)
        if as_json:
            print_visible(page.model_dump_json(indent=1))
            return 0
        rows = [
            (item.task_id, item.status.replace("_", " "), counted(item.steps, "step"), item.description)
            for item in page.plans
        ]
        print_rows(rows)
        if page.total > len(rows):
            print_visible(f"{len(rows)} of {page.total}: --limit shows more.")
        if not page.plans:
            print_visible("There are no plans yet: `parley plan generate` makes one.")
        return 0

    run_with_plans(run, url)


@app.command()
def show(task: Task, as_json: Json = False, url: Url = "") -> None:
    """Show a plan with its steps, their results, and what open steps would change."""

    async def run(plans: "ExecutionPlans") -> int:
        from cli.plan_rendering import describe, describe_changes
        from cli.text import print_visible

        plan = await plans.get(task)
        if as_json:
            print_visible(plan.model_dump_json(indent=1))
        else:
            print_visible(
                "\n\n".join(
                    filter(None, (describe(plan, columns()), describe_changes(plan, await plans.previews(plan))))
                )
            )
        return plan_exit_code(plan)

    run_with_plans(run, url)


@app.command()
def diff(
    task: Task,
    old: Annotated[int, typer.Option("--from", min=0, help="A version; default: the one before the last.")] = 0,
    new: Annotated[int, typer.Option("--to", min=0, help="A version; default: the last one.")] = 0,
    url: Url = "",
) -> None:
    """List a plan's versions with author and reason, and show the changes between two of them."""

    async def run(plans: "ExecutionPlans") -> int:
        from cli.plan_diff import change_lines, origin
        from cli.text import print_visible

        plan = await plans.get(task)
        versions = await plans.versions(plan)
        print_visible("\n".join(origin(row) for row in versions) or "There is no version yet.")
        if len(versions) > 1 or old or new:
            last = [item.version for item in versions][-2:]
            difference = await plans.diff(plan, old or last[0], new or last[-1])
            print_visible("\n" + "\n".join(change_lines(difference)))
        return 0

    run_with_plans(run, url)


@app.command()
def modify(
    task: Task,
    feedback: Annotated[str, typer.Argument(help="What to change.")],
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Ask the planner for another version."""

    async def send(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.modify(await plans.get(task), feedback)

    print_result(send, url, as_json=as_json)


@app.command()
def approve(  # noqa: PLR0913, PLR0917  one parameter per option
    task: Task,
    version: Annotated[int, typer.Option(min=1, help="The version that you have read.")],
    preapprove: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP", help="Approve this step with any values of its references. Can be repeated."),
    ] = None,
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Without it, `parley plan execute` starts the plan.")
    ] = True,
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Approve exactly this version, and execute it."""

    async def send(plans: "ExecutionPlans") -> "ExecutionPlan":
        from cli.command import Declined

        plan = await plans.get(task)
        if plan.version != version:
            raise Declined(f"Version {plan.version} is the newest, not {version}: look at it, and approve that.")
        return await plans.approve(plan, preapprove=preapprove or (), start=start, wait=600)

    print_result(send, url, as_json=as_json)


OfferVersion = Annotated[int, typer.Option("--version", min=1, help="The version of the offer that you have read.")]


@app.command()
def take(task: Task, version: OfferVersion, as_json: Json = False, url: Url = "") -> None:
    """Take the offer that stands beside a plan: it takes the plan's place, and waits for approval."""
    print_result(lambda plans: _decide_offer(plans, task, version, taken=True), url, as_json=as_json)


@app.command()
def keep(task: Task, version: OfferVersion, as_json: Json = False, url: Url = "") -> None:
    """Turn the offer down, so that the plan goes on."""
    print_result(lambda plans: _decide_offer(plans, task, version, taken=False), url, as_json=as_json)


async def _decide_offer(plans: "ExecutionPlans", task: str, version: int, *, taken: bool) -> "ExecutionPlan":
    from cli.command import Declined

    plan = await plans.get(task)
    if plan.offer and plan.offer.version != version:
        raise Declined(f"Another offer is open: look at it, and decide again: parley plan show {task}")
    return await (plans.take_offer(plan) if taken else plans.keep_offer(plan, wait=600))


@app.command()
def answer(
    task: Task,
    text: Annotated[str, typer.Argument(help="The answer; to a form as JSON, or as name=value pairs.")],
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Answer a plan's question, so that it continues."""

    async def run(parley: "Parley") -> int:
        from cli.chat.forms import form_answer, form_fields
        from cli.command import Declined

        plan = await parley.execution_plans.get(task)
        if not plan.question:
            raise Declined(f"The plan asks nothing now. Look at it: parley plan show {task}")
        session = parley.session(plan.session_id)
        question = (await session.snapshot()).question
        await session.answer(form_answer(text, form_fields(question.form if question else None)))
        return print_plan(await parley.execution_plans.get(plan.task_id, wait=600), as_json=as_json)

    run_with_client(run, url)


@app.command()
def execute(
    task: Task,
    retry: Annotated[
        bool, typer.Option("--retry", help="Go on with a plan that failed, was stopped or paused.")
    ] = False,
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Start an approved plan, unless it has started, and wait for its result."""

    async def send(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.execute(await plans.get(task), retry=retry)

    print_result(send, url, as_json=as_json)


@app.command()
def skip(  # noqa: PLR0913, PLR0917  one parameter per option
    task: Task,
    step: Annotated[str, typer.Argument(metavar="STEP", help="The id of the step, like s2.")],
    output: Annotated[str | None, typer.Option(help="An output to use instead: JSON, or else text.")] = None,
    with_dependents: Annotated[bool, typer.Option(help="Also skip the steps that use its output.")] = False,
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Skip a step, with an output in its place or with the steps that use its output."""
    from cli.step_output import parse_output

    try:
        step_output = None if output is None else parse_output(output)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from None

    async def send(plans: "ExecutionPlans") -> "ExecutionPlan":
        plan = await plans.get(task)
        return await plans.skip(plan, step, output=step_output, with_dependents=with_dependents, wait=None)

    print_result(send, url, as_json=as_json)


@app.command()
def cancel(task: Task, as_json: Json = False, url: Url = "") -> None:
    """Cancel a plan: running steps end, and no other step starts."""

    async def send(plans: "ExecutionPlans") -> "ExecutionPlan":
        return await plans.cancel(await plans.get(task))

    print_result(send, url, as_json=as_json)


@app.command()
def delete(task: Task, url: Url = "") -> None:
    """Delete a plan that is not running; its session and journal stay."""

    async def run(plans: "ExecutionPlans") -> int:
        await plans.delete(await plans.get(task))
        return 0

    run_with_plans(run, url)


def _read(file: Path) -> dict[str, Any]:
    """The plan in the file. Raises typer.BadParameter."""
    from shared.documents import decode, read_json

    try:
        document = read_json(decode(file.read_bytes()))
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file} cannot be read as JSON: {error}") from None
    if not isinstance(document, dict) or not document.get("description") or not document.get("steps"):
        raise typer.BadParameter(f'{file} is no plan: write {{"description": "…", "steps": [{{"text": …}}]}}')
    return document


def _settings(*, plan_approval: bool) -> dict[str, Any] | None:
    """The session's settings; None for the defaults."""
    return None if plan_approval else {"require_plan_approval": False}
