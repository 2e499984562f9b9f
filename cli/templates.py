"""`parley templates`: plans to use again, made, read, used and run by schedule from a terminal."""

# ruff: noqa: PLC0415  imports where they are needed: --help is quick

import json
import shlex
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cli.plan_running import columns, run_with_client

if TYPE_CHECKING:
    from parley.client import Parley
    from parley.protocol.templates import CandidatePage, TemplateLine, TemplateView

app = typer.Typer(
    help="Plans to use again, with parameters.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
OFFERED = 20  # values of a plan that are listed as what could be parameters
Id = Annotated[str, typer.Argument(metavar="TEMPLATE", help="Its id, as `parley templates list` tells it.")]
Url = Annotated[str, typer.Option(help="The gateway, like http://127.0.0.1:8001.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
Name = Annotated[str, typer.Option(help="What it is called; otherwise as its goal.")]
Chosen = Annotated[
    list[str],
    typer.Option(
        "--parameter", "-p", help='A value that becomes a parameter, like order="#W1". JSON where it is JSON.'
    ),
]
Given = Annotated[list[str], typer.Option("--set", "-s", help='A parameter\'s value, like order="#W1".')]


@app.command("list")
def listing(as_json: Json = False, url: Url = "") -> None:
    """My templates, newest first, and those that come with Parley."""

    async def listed(parley: "Parley") -> int:
        from cli.plan_layout import aligned
        from cli.visible import print_visible

        page = await parley.templates.list(limit=1000)
        if as_json:
            print_visible(page.model_dump_json(indent=1))
            return 0
        rows = [(one.id, one.name, _about(one)) for one in (*page.templates, *page.shipped)]
        for line in aligned(rows, shutil.get_terminal_size().columns if sys.stdout.isatty() else None):
            print_visible(line)
        return 0

    _run(listed, url)


@app.command()
def show(
    template: Id,
    format_: Annotated[Literal["yaml", "json"], typer.Option("--format", help="Of the document.")] = "yaml",
    url: Url = "",
) -> None:
    """The template as a document. What is wrong with it is told beside it."""

    async def shown(parley: "Parley") -> int:
        from cli.visible import print_visible

        print_visible((await parley.templates.document(template, format=format_)).rstrip())
        for problem in (view := await parley.templates.get(template)).problems:
            typer.echo(f"Draft: {problem}", err=True)
        return 1 if view.problems else 0

    _run(shown, url)


@app.command("import")
def read(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="YAML, or JSON if it is named .json.")],
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Make a template of a document."""
    try:
        document = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"{file} cannot be read: {error}") from None
    form: Literal["json", "yaml"] = "json" if file.suffix.lower() == ".json" else "yaml"
    _shows(lambda parley: parley.templates.read(document, format=form), url, as_json=as_json)


@app.command()
def save(
    task: Annotated[str, typer.Argument(metavar="TASK", help="A plan, as `parley plan list` tells it.")],
    parameter: Chosen = [],  # noqa: B006  typer copies it
    name: Name = "",
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Make a template of a plan, drafted or done."""
    chosen = _chosen(parameter)
    _shows(
        lambda parley: parley.templates.from_plan(task, name=name, parameters=chosen),
        url,
        as_json=as_json,
        offers=None if chosen else lambda parley: parley.templates.candidates(task),
    )


@app.command()
def learn(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="As `parley sessions` tells it.")],
    parameter: Chosen = [],  # noqa: B006  typer copies it
    name: Name = "",
    as_json: Json = False,
    url: Url = "",
) -> None:
    """Make a template of what a session did."""
    chosen = _chosen(parameter)
    _shows(
        lambda parley: parley.templates.learn(session, name=name, parameters=chosen),
        url,
        as_json=as_json,
        offers=None if chosen else lambda parley: parley.templates.learnable(session),
    )


@app.command()
def use(
    template: Id,
    given: Given = [],  # noqa: B006  typer copies it
    hint: Annotated[str, typer.Option(help="A request: the planner makes the plan, with the template in mind.")] = "",
    url: Url = "",
) -> None:
    """Begin a session with the template's plan, for you to approve."""

    async def used(parley: "Parley") -> int:
        from cli.plan_next import describe
        from cli.visible import print_visible

        plan = await parley.templates.use(template, _values(given), request=hint or None)
        print_visible(describe(plan, columns()))
        return 0

    _run(used, url)


@app.command()
def schedule(  # noqa: PLR0913, PLR0917  what a schedule can say
    template: Id,
    daily: Annotated[str, typer.Option(help="Each day at this time, like 07:30.")] = "",
    zone: Annotated[str, typer.Option(help="The time zone of --daily, like Europe/Berlin.")] = "UTC",
    once: Annotated[str, typer.Option(help="Once, like 2027-01-31T07:30+01:00.")] = "",
    off: Annotated[bool, typer.Option("--off", help="By hand only from now on.")] = False,
    given: Given = [],  # noqa: B006  typer copies it
    url: Url = "",
) -> None:
    """Run it each day or once. Each run begins a session whose plan waits for your approval."""
    if [bool(daily), bool(once), off].count(True) != 1:
        raise typer.BadParameter("say one of --daily, --once and --off")
    values = _values(given)

    async def scheduled(parley: "Parley") -> int:
        from pydantic import ValidationError

        from parley.protocol.templates import Schedule

        fields = {"daily": daily or None, "zone": zone, "once": once or None, "values": values}
        try:
            wanted = None if off else Schedule.model_validate(fields)
        except ValidationError as error:
            raise typer.BadParameter("; ".join(one["msg"] for one in error.errors())) from None
        view = await parley.templates.schedule(await parley.templates.get(template), wanted)
        typer.echo(f"Next run: {view.next_run.isoformat()}" if view.next_run else "It is run by hand only.")
        return 0

    _run(scheduled, url)


@app.command()
def delete(template: Id, url: Url = "") -> None:
    """Delete a template; the sessions that were begun with it stay."""

    async def deleted(parley: "Parley") -> int:
        await parley.templates.delete(template)
        return 0

    _run(deleted, url)


def _about(one: "TemplateLine") -> str:
    """What it takes, and how it stands."""
    runs = f"next run {one.next_run:%Y-%m-%d %H:%M} UTC" if one.next_run else ""
    draft = "draft" if one.status == "draft" else ""
    return " · ".join(filter(None, (", ".join(one.parameters), draft, runs)))


def _values(given: list[str]) -> dict[str, Any]:
    """`name=value` each; the gateway reads a text as the number that belongs there. Raises typer.BadParameter."""
    pairs = [one.partition("=") for one in given]
    if wrong := [name for name, sign, _ in pairs if not sign]:
        raise typer.BadParameter(f"“{wrong[0]}” sets nothing: write name=value")
    return {name: value for name, _, value in pairs}


def _chosen(given: list[str]) -> list[dict[str, Any]]:
    return [{"name": name, "value": _json(value)} for name, value in _values(given).items()]


def _spelled(value: Any) -> str:
    """As `_json` reads it again."""
    return value if isinstance(value, str) and _json(value) == value else json.dumps(value, ensure_ascii=False)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _shows(
    ask: "Callable[[Parley], Awaitable[TemplateView]]",
    url: str,
    *,
    as_json: bool,
    offers: "Callable[[Parley], Awaitable[CandidatePage]] | None" = None,
) -> None:
    """Print the template that comes of it, and in words also the values that `offers` for parameters."""

    async def shown(parley: "Parley") -> int:
        from cli.visible import print_visible, visible

        view = await ask(parley)
        if offers and not as_json:
            for one in (await offers(parley)).values[:OFFERED]:
                typer.echo(visible(f"Could be a parameter: -p {one.name}={shlex.quote(_spelled(one.value))}"), err=True)
        if as_json:
            print_visible(view.model_dump_json(indent=1))
        else:
            takes = " ".join(f"-s {one.name}=…" for one in view.template.parameters)
            print_visible(f"{view.id}  {view.template.name}\nUse it: parley templates use {view.id} {takes}".rstrip())
        for problem in view.problems:
            typer.echo(f"Draft: {problem}", err=True)
        return 0

    _run(shown, url)


def _run(work: "Callable[[Parley], Awaitable[int]]", url: str) -> None:
    run_with_client(work, url, group="templates")
