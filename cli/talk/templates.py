"""`parley templates`: saves, shows, uses and schedules plan templates."""

# ruff: noqa: PLC0415  deferred imports, so that --help is quick

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cli.client_command import CommandOutput, Json, client_command, plan_output, rows_text

if TYPE_CHECKING:
    from parley.client import Parley
    from parley.protocol.templates import CandidatePage, TemplateLine, TemplateView

app = typer.Typer(
    help="Plan templates: reusable plans with parameters.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
MAX_CANDIDATES = 20  # candidate parameters that are listed
Id = Annotated[str, typer.Argument(metavar="TEMPLATE", help="Its id, as in `parley templates list`.")]
Name = Annotated[str, typer.Option(help="The template's name; default: the plan's goal.")]
Parameters = Annotated[
    list[str],
    typer.Option("--parameter", "-p", help='A value to turn into a parameter, like order="#W1"; JSON or text.'),
]
Values = Annotated[list[str], typer.Option("--set", "-s", help='A parameter\'s value, like order="#W1".')]


@client_command(app, "templates", "list")
async def listing(parley: "Parley") -> CommandOutput:
    """List your templates, newest first, and Parley's own."""
    page = await parley.templates.list(limit=1000)
    return CommandOutput(
        rows_text([(item.id, item.name, _about(item)) for item in (*page.templates, *page.shipped)]), page
    )


@client_command(app, "templates", has_json=False)
async def show(
    parley: "Parley",
    template: Id,
    format_: Annotated[Literal["yaml", "json"], typer.Option("--format", help="The format of the document.")] = "yaml",
) -> CommandOutput:
    """Print the template as a document, and its problems on stderr."""
    document = await parley.templates.document(template, format=format_)
    problems = (await parley.templates.get(template)).problems
    return CommandOutput(document.rstrip(), problems=_drafts(problems), exit_code=int(bool(problems)))


@client_command(app, "templates", "import")
async def read(
    parley: "Parley",
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="YAML, or JSON if it is named .json.")],
) -> CommandOutput:
    """Create a template from a document."""
    from shared.documents import decode

    try:
        document = decode(file.read_bytes())
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from None
    form: Literal["json", "yaml"] = "json" if file.suffix.lower() == ".json" else "yaml"
    return _created(await parley.templates.read(document, format=form))


@client_command(app, "templates")
async def save(
    parley: "Parley",
    task: Annotated[str, typer.Argument(metavar="TASK", help="A plan, as in `parley plan list`.")],
    parameter: Parameters = [],  # noqa: B006  typer copies it
    name: Name = "",
    as_json: Json = False,
) -> CommandOutput:
    """Create a template from a plan, drafted or executed."""
    view = await parley.templates.from_plan(task, name=name, parameters=_parameters(parameter))
    return _created(view, None if parameter or as_json else await parley.templates.candidates(task))


@client_command(app, "templates")
async def learn(
    parley: "Parley",
    session: Annotated[str, typer.Argument(metavar="SESSION", help="A session, as in `parley sessions`.")],
    parameter: Parameters = [],  # noqa: B006  typer copies it
    name: Name = "",
    as_json: Json = False,
) -> CommandOutput:
    """Create a template from the actions of a session."""
    view = await parley.templates.learn(session, name=name, parameters=_parameters(parameter))
    return _created(view, None if parameter or as_json else await parley.templates.learnable(session))


@client_command(app, "templates", has_json=False)
async def use(
    parley: "Parley",
    template: Id,
    assignments: Values = [],  # noqa: B006  typer copies it
    hint: Annotated[
        str, typer.Option(help="A request: the planner makes the plan, using the template as an example.")
    ] = "",
) -> CommandOutput:
    """Start a session with the template's plan, which you then approve."""
    plan = await parley.templates.use(template, _values(assignments), request=hint or None)
    return plan_output(plan)._replace(exit_code=0)


@client_command(app, "templates", has_json=False)
async def schedule(  # noqa: PLR0913, PLR0917  one parameter per option
    parley: "Parley",
    template: Id,
    daily: Annotated[str, typer.Option(help="Every day at this time, like 07:30.")] = "",
    zone: Annotated[str, typer.Option(help="The time zone of --daily, like Europe/Berlin.")] = "UTC",
    once: Annotated[str, typer.Option(help="Once, like 2027-01-31T07:30+01:00.")] = "",
    off: Annotated[bool, typer.Option("--off", help="Remove the schedule.")] = False,
    assignments: Values = [],  # noqa: B006  typer copies it
) -> CommandOutput:
    """Schedule a template daily or once. Each run starts a session whose plan waits for your approval."""
    from pydantic import ValidationError

    from parley.protocol.templates import Schedule

    if [bool(daily), bool(once), off].count(True) != 1:
        raise typer.BadParameter("say one of --daily, --once and --off")
    fields = {"daily": daily or None, "zone": zone, "once": once or None, "values": _values(assignments)}
    try:
        new_schedule = None if off else Schedule.model_validate(fields)
    except ValidationError as error:
        raise typer.BadParameter("; ".join(item["msg"] for item in error.errors())) from None
    view = await parley.templates.schedule(await parley.templates.get(template), new_schedule)
    return CommandOutput(f"Next run: {view.next_run.isoformat()}" if view.next_run else "It is run by hand only.")


@client_command(app, "templates", has_json=False)
async def delete(parley: "Parley", template: Id) -> CommandOutput:
    """Delete a template; sessions that it started stay."""
    await parley.templates.delete(template)
    return CommandOutput()


def _about(item: "TemplateLine") -> str:
    """The template's parameters, status and next run."""
    runs = f"next run {item.next_run:%Y-%m-%d %H:%M} UTC" if item.next_run else ""
    draft = "draft" if item.status == "draft" else ""
    return " · ".join(filter(None, (", ".join(item.parameters), draft, runs)))


def _values(assignments: list[str]) -> dict[str, Any]:
    """Parse `name=value` arguments. The gateway converts text to the parameter's type. Raises typer.BadParameter."""
    pairs = [item.partition("=") for item in assignments]
    if invalid := [name for name, sign, _ in pairs if not sign]:
        raise typer.BadParameter(f"“{invalid[0]}” sets nothing: write name=value")
    return {name: value for name, _, value in pairs}


def _parameters(assignments: list[str]) -> list[dict[str, Any]]:
    return [{"name": name, "value": _json(value)} for name, value in _values(assignments).items()]


def _as_argument(value: Any) -> str:
    """The value as an argument that `_json` parses back."""
    return value if isinstance(value, str) and _json(value) == value else json.dumps(value, ensure_ascii=False)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _created(view: "TemplateView", candidates: "CandidatePage | None" = None) -> CommandOutput:
    """The new template, and on stderr values that could be parameters and the problems of a draft."""
    from cli.text import visible

    offers = [
        visible(f"Could be a parameter: -p {item.name}={shlex.quote(_as_argument(item.value))}")
        for item in (candidates.values[:MAX_CANDIDATES] if candidates else ())
    ]
    arguments = " ".join(f"-s {item.name}=…" for item in view.template.parameters)
    text = f"{view.id}  {view.template.name}\nUse it: parley templates use {view.id} {arguments}".rstrip()
    return CommandOutput(text, view, [*offers, *_drafts(view.problems)])


def _drafts(problems: Sequence[str]) -> list[str]:
    return [f"Draft: {problem}" for problem in problems]
