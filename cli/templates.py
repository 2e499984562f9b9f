"""`parley templates`: saves, shows, uses and schedules plan templates."""

# ruff: noqa: PLC0415  deferred imports, so that --help is quick

import json
import shlex
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cli.plan_client import columns, print_rows, run_with_client

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
Url = Annotated[str, typer.Option(help="The gateway, like http://127.0.0.1:8001.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Option(help="The template's name; default: the plan's goal.")]
Parameters = Annotated[
    list[str],
    typer.Option("--parameter", "-p", help='A value to turn into a parameter, like order="#W1"; JSON or text.'),
]
Values = Annotated[list[str], typer.Option("--set", "-s", help='A parameter\'s value, like order="#W1".')]


@app.command("list")
def listing(as_json: Json = False, url: Url = "") -> None:
    """List your templates, newest first, and Parley's own."""

    async def run(parley: "Parley") -> int:
        from cli.text import print_visible

        page = await parley.templates.list(limit=1000)
        if as_json:
            print_visible(page.model_dump_json(indent=1))
            return 0
        rows = [(item.id, item.name, _about(item)) for item in (*page.templates, *page.shipped)]
        print_rows(rows)
        return 0

    _run(run, url)


@app.command()
def show(
    template: Id,
    format_: Annotated[Literal["yaml", "json"], typer.Option("--format", help="The format of the document.")] = "yaml",
    url: Url = "",
) -> None:
    """Print the template as a document, and its problems on stderr."""

    async def print_requested(parley: "Parley") -> int:
        from cli.text import print_visible

        print_visible((await parley.templates.document(template, format=format_)).rstrip())
        for problem in (view := await parley.templates.get(template)).problems:
            typer.echo(f"Draft: {problem}", err=True)
        return 1 if view.problems else 0

    _run(print_requested, url)


@app.command("import")
def read(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="YAML, or JSON if it is named .json.")],
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Create a template from a document."""
    from shared.documents import decode

    try:
        document = decode(file.read_bytes())
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from None
    form: Literal["json", "yaml"] = "json" if file.suffix.lower() == ".json" else "yaml"
    _print_template(lambda parley: parley.templates.read(document, format=form), url, as_json=as_json)


@app.command()
def save(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A plan, as in `parley plan list`.")],
    parameter: Parameters = [],  # noqa: B006  typer copies it
    name: Name = "",
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Create a template from a plan, drafted or executed."""
    parameters = _parameters(parameter)
    _print_template(
        lambda parley: parley.templates.from_plan(task, name=name, parameters=parameters),
        url,
        as_json=as_json,
        offers=None if parameters else lambda parley: parley.templates.candidates(task),
    )


@app.command()
def learn(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="A session, as in `parley sessions`.")],
    parameter: Parameters = [],  # noqa: B006  typer copies it
    name: Name = "",
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Create a template from the actions of a session."""
    parameters = _parameters(parameter)
    _print_template(
        lambda parley: parley.templates.learn(session, name=name, parameters=parameters),
        url,
        as_json=as_json,
        offers=None if parameters else lambda parley: parley.templates.learnable(session),
    )


@app.command()
def use(
    template: Id,
    assignments: Values = [],  # noqa: B006  typer copies it
    hint: Annotated[
        str, typer.Option(help="A request: the planner makes the plan, using the template as an example.")
    ] = "",
    url: Url = "",
) -> None:
    """Start a session with the template's plan, which you then approve."""

    async def run(parley: "Parley") -> int:
        from cli.plan_rendering import describe
        from cli.text import print_visible

        plan = await parley.templates.use(template, _values(assignments), request=hint or None)
        print_visible(describe(plan, columns()))
        return 0

    _run(run, url)


@app.command()
def schedule(  # noqa: PLR0913, PLR0917  one parameter per option
    template: Id,
    daily: Annotated[str, typer.Option(help="Every day at this time, like 07:30.")] = "",
    zone: Annotated[str, typer.Option(help="The time zone of --daily, like Europe/Berlin.")] = "UTC",
    once: Annotated[str, typer.Option(help="Once, like 2027-01-31T07:30+01:00.")] = "",
    off: Annotated[bool, typer.Option("--off", help="Remove the schedule.")] = False,
    assignments: Values = [],  # noqa: B006  typer copies it
    url: Url = "",
) -> None:
    """Schedule a template daily or once. Each run starts a session whose plan waits for your approval."""
    if [bool(daily), bool(once), off].count(True) != 1:
        raise typer.BadParameter("say one of --daily, --once and --off")
    values = _values(assignments)

    async def run(parley: "Parley") -> int:
        from pydantic import ValidationError

        from parley.protocol.templates import Schedule

        fields = {"daily": daily or None, "zone": zone, "once": once or None, "values": values}
        try:
            new_schedule = None if off else Schedule.model_validate(fields)
        except ValidationError as error:
            raise typer.BadParameter("; ".join(item["msg"] for item in error.errors())) from None
        view = await parley.templates.schedule(await parley.templates.get(template), new_schedule)
        typer.echo(f"Next run: {view.next_run.isoformat()}" if view.next_run else "It is run by hand only.")
        return 0

    _run(run, url)


@app.command()
def delete(template: Id, url: Url = "") -> None:
    """Delete a template; sessions that it started stay."""

    async def run(parley: "Parley") -> int:
        await parley.templates.delete(template)
        return 0

    _run(run, url)


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


def _print_template(
    request: "Callable[[Parley], Awaitable[TemplateView]]",
    url: str,
    *,
    as_json: bool,
    offers: "Callable[[Parley], Awaitable[CandidatePage]] | None" = None,
) -> None:
    """Print the resulting template and, unless as JSON, the candidate parameters that `offers` returns."""

    async def print_requested(parley: "Parley") -> int:
        from cli.text import print_visible, visible

        view = await request(parley)
        if offers and not as_json:
            for item in (await offers(parley)).values[:MAX_CANDIDATES]:
                typer.echo(
                    visible(f"Could be a parameter: -p {item.name}={shlex.quote(_as_argument(item.value))}"), err=True
                )
        if as_json:
            print_visible(view.model_dump_json(indent=1))
        else:
            arguments = " ".join(f"-s {item.name}=…" for item in view.template.parameters)
            print_visible(
                f"{view.id}  {view.template.name}\nUse it: parley templates use {view.id} {arguments}".rstrip()
            )
        for problem in view.problems:
            typer.echo(f"Draft: {problem}", err=True)
        return 0

    _run(print_requested, url)


def _run(work: "Callable[[Parley], Awaitable[int]]", url: str) -> None:
    run_with_client(work, url, group="templates")
