"""`parley plan`: generates, shows, approves and executes plans of the running Parley."""

# ruff: noqa: PLC0415  deferred imports, so that --help is quick

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.client_command import CommandOutput, Json, client_command, plan_output, rows_text
from shared.time_zones import own_time_zone

if TYPE_CHECKING:
    from parley.client import Parley
    from parley.protocol.execution_plans import ExecutionPlan

app = typer.Typer(
    help="Execution plans: generate, edit, approve and execute them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _task(value: str) -> str:
    """Raises typer.BadParameter, because any other text would change the request's path."""
    from parley.protocol.execution_plans import TASK_ID

    if re.fullmatch(TASK_ID, value):
        return value
    raise typer.BadParameter(f"“{value}” is no plan's task: `parley plan list` shows yours.")


Task = Annotated[str, typer.Argument(metavar="TASK", callback=_task, help="The plan's task, as in `parley plan list`.")]
PlanApproval = Annotated[
    bool,
    typer.Option(
        "--plan-approval/--no-plan-approval",
        help="Without it the plan runs at once, and each call follows its own approval policy.",
    ),
]
OfferVersion = Annotated[int, typer.Option("--version", min=1, help="The version of the offer that you have read.")]


@client_command(app, "plan")
async def generate(  # noqa: PLR0913, PLR0917  one parameter per option
    parley: "Parley",
    request: Annotated[str, typer.Argument(help="What to do, in words.")],
    generator: Annotated[str, typer.Option(help="The plan generator; default: the first one that is configured.")] = "",
    plan_approval: PlanApproval = True,
    tool: Annotated[list[str] | None, typer.Option(help="Allow only this tool. Can be repeated.")] = None,
    model: Annotated[str, typer.Option(help="The model; one that is configured.")] = "",
    instructions: Annotated[str, typer.Option(help="Instructions for every version of the plan.")] = "",
) -> CommandOutput:
    """Generate a plan for a request, or print the planner's question."""
    if not request.strip():
        raise typer.BadParameter("say what is to be done")
    plan = await parley.execution_plans.generate(
        request,
        generator=generator or None,
        settings=_settings(plan_approval=plan_approval),
        tools=tool,
        model=model or None,
        instructions=instructions or None,
        time_zone=own_time_zone(),
    )
    return plan_output(plan)


@client_command(app, "plan")
async def store(
    parley: "Parley",
    file: Annotated[
        Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False, help='JSON: {"description": …, "steps": […]}')
    ],
    plan_approval: PlanApproval = True,
) -> CommandOutput:
    """Create a plan from a file."""
    document, settings = _read(file), _settings(plan_approval=plan_approval)
    description, steps, notes = document["description"], document["steps"], document.get("notes", "")
    return plan_output(await parley.execution_plans.store(description, steps, notes=notes, settings=settings))


@client_command(app, "plan", "list")
async def listing(
    parley: "Parley",
    session: Annotated[str, typer.Option(help="Only of this session, with those of its earlier tasks.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 20,
) -> CommandOutput:
    """List your plans, newest first."""
    from cli.text import counted

    page = await parley.execution_plans.list(session_id=session or None, limit=limit)
    rows = [
        (item.task_id, item.status.replace("_", " "), counted(item.steps, "step"), item.description)
        for item in page.plans
    ]
    more = f"{len(rows)} of {page.total}: --limit shows more." if page.total > len(rows) else ""
    text = rows_text(rows) or "There are no plans yet: `parley plan generate` makes one."
    return CommandOutput("\n".join(filter(None, (text, more))), page)


@client_command(app, "plan")
async def show(parley: "Parley", task: Task, as_json: Json = False) -> CommandOutput:
    """Show a plan with its steps, their results, and what open steps would change."""
    from cli.talk.plan_rendering import describe_changes

    plan = await parley.execution_plans.get(task)
    changes = "" if as_json else describe_changes(plan, await parley.execution_plans.previews(plan))
    return plan_output(plan, changes)


@client_command(app, "plan", has_json=False)
async def diff(
    parley: "Parley",
    task: Task,
    old: Annotated[int, typer.Option("--from", min=0, help="A version; default: the one before the last.")] = 0,
    new: Annotated[int, typer.Option("--to", min=0, help="A version; default: the last one.")] = 0,
) -> CommandOutput:
    """List a plan's versions with author and reason, and show the changes between two of them."""
    from cli.talk.plan_rendering import change_lines, origin

    versions = await parley.execution_plans.versions(task)
    lines = [origin(row) for row in versions] or ["There is no version yet."]
    if len(versions) > 1 or old or new:
        last = [item.version for item in versions][-2:]
        difference = await parley.execution_plans.diff(task, old or last[0], new or last[-1])
        lines += ["", *change_lines(difference)]
    return CommandOutput("\n".join(lines))


@client_command(app, "plan")
async def modify(
    parley: "Parley", task: Task, feedback: Annotated[str, typer.Argument(help="What to change.")]
) -> CommandOutput:
    """Ask the planner for another version."""
    return plan_output(await parley.execution_plans.modify(await parley.execution_plans.get(task), feedback))


@client_command(app, "plan")
async def approve(
    parley: "Parley",
    task: Task,
    version: Annotated[int, typer.Option(min=1, help="The version that you have read.")],
    preapprove: Annotated[
        list[str] | None,
        typer.Option(metavar="STEP", help="Approve this step with any values of its references. Can be repeated."),
    ] = None,
    start: Annotated[
        bool, typer.Option("--start/--no-start", help="Without it, `parley plan execute` starts the plan.")
    ] = True,
) -> CommandOutput:
    """Approve exactly this version, and execute it."""
    from cli.command import Declined

    plan = await parley.execution_plans.get(task)
    if plan.version != version:
        raise Declined(f"Version {plan.version} is the newest, not {version}: look at it, and approve that.")
    return plan_output(await parley.execution_plans.approve(plan, preapprove=preapprove or (), start=start, wait=600))


@client_command(app, "plan")
async def take(parley: "Parley", task: Task, version: OfferVersion) -> CommandOutput:
    """Take the offer that stands beside a plan: it takes the plan's place, and waits for approval."""
    return plan_output(await parley.execution_plans.take_offer(await _with_offer(parley, task, version)))


@client_command(app, "plan")
async def keep(parley: "Parley", task: Task, version: OfferVersion) -> CommandOutput:
    """Turn the offer down, so that the plan goes on."""
    return plan_output(await parley.execution_plans.keep_offer(await _with_offer(parley, task, version), wait=600))


async def _with_offer(parley: "Parley", task: str, version: int) -> "ExecutionPlan":
    """The plan. Raises Declined if another offer than this one is open."""
    from cli.command import Declined

    plan = await parley.execution_plans.get(task)
    if plan.offer and plan.offer.version != version:
        raise Declined(f"Another offer is open: look at it, and decide again: parley plan show {task}")
    return plan


@client_command(app, "plan")
async def answer(
    parley: "Parley",
    task: Task,
    text: Annotated[str, typer.Argument(help="The answer; to a form as JSON, or as name=value pairs.")],
) -> CommandOutput:
    """Answer a plan's question, so that it continues."""
    from cli.chat.forms import form_answer, form_fields
    from cli.command import Declined

    plan = await parley.execution_plans.get(task)
    if not plan.question:
        raise Declined(f"The plan asks nothing now. Look at it: parley plan show {task}")
    session = parley.session(plan.session_id)
    question = (await session.snapshot()).question
    await session.answer(form_answer(text, form_fields(question.form if question else None)))
    return plan_output(await parley.execution_plans.get(plan.task_id, wait=600))


@client_command(app, "plan")
async def execute(
    parley: "Parley",
    task: Task,
    retry: Annotated[
        bool, typer.Option("--retry", help="Go on with a plan that failed, was stopped or paused.")
    ] = False,
) -> CommandOutput:
    """Start an approved plan, unless it has started, and wait for its result."""
    return plan_output(await parley.execution_plans.execute(task, retry=retry))


@client_command(app, "plan")
async def skip(
    parley: "Parley",
    task: Task,
    step: Annotated[str, typer.Argument(metavar="STEP", help="The id of the step, like s2.")],
    output: Annotated[str | None, typer.Option(help="An output to use instead: JSON, or else text.")] = None,
    with_dependents: Annotated[bool, typer.Option(help="Also skip the steps that use its output.")] = False,
) -> CommandOutput:
    """Skip a step, with an output in its place or with the steps that use its output."""
    try:
        value = None if output is None else parse_output(output)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--output") from None
    return plan_output(
        await parley.execution_plans.skip(task, step, output=value, with_dependents=with_dependents, wait=None)
    )


def parse_output(typed: str) -> Any:
    """The output that a user types for a skipped step: JSON, or else text. Raises ValueError, also for null."""
    from parley.protocol.words import REVIEW

    text = typed.strip()
    try:
        value = json.loads(text)
    except ValueError as error:
        if not text or text[0] in '{["':
            raise ValueError(REVIEW["skip_json"].format(why=error) if text else REVIEW["skip_empty"]) from None
        return text
    if value is None:
        raise ValueError(REVIEW["skip_null"])
    return value


@client_command(app, "plan")
async def cancel(parley: "Parley", task: Task) -> CommandOutput:
    """Cancel a plan: running steps end, and no other step starts."""
    return plan_output(await parley.execution_plans.cancel(task))


@client_command(app, "plan", has_json=False)
async def delete(parley: "Parley", task: Task) -> CommandOutput:
    """Delete a plan that is not running; its session and journal stay."""
    await parley.execution_plans.delete(task)
    return CommandOutput()


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
