"""The `parley` command. Slow imports are inside the commands that need them, so that --help is quick."""

# ruff: noqa: PLC0415, PLR0913, PLR0917  deferred imports; one parameter per option

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cli.client_command import Json
from cli.command import load_settings, run_with_settings, version
from cli.talk import plans, templates
from cli.tasks.commands import app as tasks
from shared.environment import keep_files_private

if TYPE_CHECKING:
    from sql.database import ReadOnlyDatabase

app = typer.Typer(
    name="parley",
    help="Parley: a planning agent you can argue with. `parley up` starts it, `parley chat` talks to it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _group in (("tasks", tasks), ("plan", plans.app), ("templates", templates.app)):
    app.add_typer(_group, name=_name)


def main() -> None:
    """The entry point. Files that it or its child processes create are private to this account."""
    keep_files_private()
    app()


def _print_version(is_requested: bool) -> None:
    if is_requested:
        print(f"parley {version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None: ...


@app.command()
def up(
    database: Annotated[
        str, typer.Option(metavar="URL", help="The database for flows; default: PARLEY_SQL_DATABASE_URL.")
    ] = "",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show the output of all programs.")] = False,
) -> None:
    """Start everything on this machine; Ctrl-C stops it."""
    from cli.operate import up as launcher

    overrides = {"parley_sql_database_url": database} if database else {}
    raise typer.Exit(launcher.up(load_settings().model_copy(update=overrides), verbose=verbose))


@app.command()
def doctor(
    session: Annotated[str, typer.Argument(help="Explain why this session does not continue.")] = "",
) -> None:
    """Check this machine, the settings and the services; or explain what a session waits for."""
    if session:
        from cli.operate.diagnosis import doctor_session

        run_with_settings("doctor", lambda settings: doctor_session(settings, session))
    from cli.operate import doctor as checks

    raise typer.Exit(checks.doctor(load_settings()))


@app.command()
def provision(
    check: Annotated[bool, typer.Option("--check", help="Only report differences (exit code 1).")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also lower the number of copies to NATS_REPLICAS.")] = False,
) -> None:
    """Create or repair the streams and consumers on NATS."""
    from cli.operate import provision as provisioning

    run_with_settings("provision", lambda settings: provisioning.provision(settings, check=check, force=force))


@app.command()
def rebuild(
    force: Annotated[bool, typer.Option("--force", help="Also give up messages that only the database has.")] = False,
) -> None:
    """Rebuild the database from the log."""
    from cli.operate import provision as provisioning

    raise typer.Exit(provisioning.rebuild(load_settings(), force=force))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(context: typer.Context) -> None:
    """Measure Parley's own overhead on this machine: a few minutes (--tiny: a few seconds)."""
    import subprocess

    raise typer.Exit(subprocess.call([sys.executable, "-m", "bench.overhead", *context.args]))  # noqa: S603


@app.command()
def chat(
    request: Annotated[list[str] | None, typer.Argument(metavar="[REQUEST]...", help="What to plan.")] = None,
    session: Annotated[str, typer.Option(help="Resume this session.")] = "",
    url: Annotated[str, typer.Option(help="The gateway's WebSocket, like ws://127.0.0.1:8001/ws.")] = "",
    workflow: Annotated[str | None, typer.Option(help="The workflow of the first request.")] = None,
    flow: Annotated[str, typer.Option(metavar="NAME", help="The flow to use; by default the planner chooses.")] = "",
    confirm: Annotated[
        Literal["path", "nodes", "nothing"] | None, typer.Option(help="What you approve in a flow (default: nodes).")
    ] = None,
    plan_approval: plans.PlanApproval = True,
    yes: Annotated[bool, typer.Option("--yes", help="Approve everything, also actions (for scripts).")] = False,
) -> None:
    """Talk to Parley in the terminal. Without a terminal, it reads lines from stdin and writes plain text.

    Exit codes: 0 ok, 1 failed, 3 a decision was needed (an approval without --yes, an answer), 130 interrupted.
    """
    from cli.chat import run
    from cli.chat.first_request import FirstRequest, check_workflow

    first, text = FirstRequest(check_workflow(workflow), flow, confirm, plan_approval), " ".join(request or ())
    run_with_settings(
        "chat", lambda s: run.chat(s, request=text, session_id=session or None, url=url, yes=yes, first=first)
    )


@app.command()
def tail(
    session: Annotated[str, typer.Argument(help="Only this session, from its beginning.")] = "",
    as_json: Json = False,
    follow: Annotated[bool, typer.Option(help="Wait for new events.")] = True,
) -> None:
    """Follow the stored events, one line each."""
    if not session and not follow:
        raise typer.BadParameter("--no-follow needs a session, whose journal it shows.")
    from cli.talk import tail as feed

    run_with_settings("tail", lambda settings: feed.tail(settings, session, as_json=as_json, follow=follow))


@app.command()
def publish(
    text: Annotated[str, typer.Option(help="Start a session with this request and print its id.")] = "",
    file: Annotated[str, typer.Option("--file", "-f", help="One event as JSON; - is stdin.")] = "",
    workflow: Annotated[str | None, typer.Option(help="With --text: the workflow.")] = None,
    command: Annotated[str, typer.Option(metavar="JSON", help='Like {"approve": {"version": 2, "hash": "…"}}.')] = "",
    session: Annotated[str, typer.Option(help="The session of --command; with --text: the new session's id.")] = "",
    user: Annotated[str, typer.Option(help="With --text and --command: the user.")] = "local",
    raw: Annotated[str, typer.Option(metavar="SUBJECT", help="Publish --file here, without a guard.")] = "",
) -> None:
    """Append events directly to the log, with subject and guard, as any program can."""
    if sum(map(bool, (text, file, command))) != 1 or (raw and not file) or (command and not session):
        raise typer.BadParameter("give --text, --command with --session, or --file (with --raw SUBJECT: unchanged)")
    from cli.talk import publish as publish_commands

    publish_commands.check_workflow(workflow)
    if text:
        run_with_settings(
            "publish",
            lambda s: publish_commands.begin_session(s, text, workflow=workflow, session_id=session, user=user),
        )
    elif command:
        run_with_settings("publish", lambda s: publish_commands.send_command(s, command, session_id=session, user=user))
    elif raw:
        run_with_settings(
            "publish", lambda s: publish_commands.publish_bytes(s, raw, publish_commands.read_input(file))
        )
    run_with_settings("publish", lambda s: publish_commands.publish_event(s, publish_commands.read_input(file)))


@app.command()
def sessions(
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORDS]... | show ID | export ID | purge ID")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    as_json: Json = False,
    form: Annotated[Literal["md", "json", "py"], typer.Option("--format", help="The format of export.")] = "md",
    yes: Annotated[bool, typer.Option("--yes", help="Purge without asking.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Purge one that waits for a newer release, too.")] = False,
    url: Annotated[str, typer.Option(help="The gateway that exports, like http://127.0.0.1:8001.")] = "",
) -> None:
    """List sessions (that contain these words), show one with its journal, export it, or purge it."""
    from cli.talk import sessions as session_commands

    match words or []:
        case ["show", session]:
            run_with_settings("sessions", lambda s: session_commands.show_session(s, session, as_json=as_json))
        case ["export", session]:
            run_with_settings("sessions", lambda s: session_commands.export_session(s, session, form, url=url))
        case ["purge", session]:
            run_with_settings("sessions", lambda s: session_commands.purge_session(s, session, yes=yes, force=force))
        case ["show" | "export" | "purge" as verb]:
            raise typer.BadParameter(f"{verb} which session? `parley sessions` lists them.")
        case search:
            run_with_settings(
                "sessions",
                lambda s: session_commands.list_sessions(s, words=" ".join(search), limit=limit, as_json=as_json),
            )


@app.command()
def tools(
    world: Annotated[str, typer.Option(help="The world: retail.")] = "retail",
    data: Annotated[Path | None, typer.Option(help="A folder with users.json, orders.json and products.json.")] = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Answer calls from stdin, one a line.")] = False,
) -> None:
    """List the tools of a world; with --jsonl, run calls from stdin on a temporary copy of it."""
    from cli import tools as world_tools

    if world != "retail":
        raise typer.BadParameter(f"there is no world {world}; use retail", param_hint="--world")
    raise typer.Exit(world_tools.drive(data) if jsonl else world_tools.show())


@app.command()
def mcp(
    http: Annotated[
        int | None,
        typer.Option("--http", metavar="PORT", min=1, max=65535, help="Serve MCP over HTTP on this port of 127.0.0.1."),
    ] = None,
    url: Annotated[str, typer.Option(help="The gateway's WebSocket, like ws://127.0.0.1:8001/ws.")] = "",
) -> None:
    """Serve MCP over stdio, so that an assistant can use the running Parley."""
    from cli.mcp.server import serve

    run_with_settings("mcp", lambda settings: serve(settings, url=url, port=http))


@app.command()
def sql(
    statement: Annotated[str, typer.Argument(metavar="[SQL]", help="A query; prints its rows as a table.")] = "",
    database: Annotated[
        str, typer.Option(metavar="URL", help="sqlite:///folder/name.db or postgresql://user:password@host/name")
    ] = "",
    hide: Annotated[str, typer.Option(help='Tables and columns to hide: "secrets, users.email, *.password"')] = "",
    only: Annotated[str, typer.Option(help="The only tables that may be read.")] = "",
    max_rows: Annotated[int, typer.Option(min=1, help="The most rows of a result.")] = 1000,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for each query.")] = 10.0,
    schema: Annotated[bool, typer.Option("--schema", help="Show the tables.")] = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help='Read lines {"sql": …} from stdin and answer each.')] = False,
) -> None:
    """Query a SQLite or PostgreSQL database, read-only."""
    if not database or bool(statement) + schema + jsonl != 1:
        raise typer.BadParameter("give --database URL, and one of: a statement, --schema, --jsonl")
    from cli import sql as sql_client
    from sql.database import Hidden, QueryLimits

    async def query(opened: "ReadOnlyDatabase") -> int:
        return await sql_client.run_statement(opened, statement)

    work = sql_client.serve_stdin if jsonl else sql_client.show_schema if schema else query
    limits = QueryLimits(rows=max_rows, seconds=timeout)
    raise typer.Exit(sql_client.run_with_database(database, Hidden.parse(hide, only=only), limits, work))


@app.command()
def dead(
    as_json: Json = False,
    retry: Annotated[str, typer.Option(metavar="SESSION", help="Retry the session's failed stage.")] = "",
    dismiss: Annotated[str, typer.Option(metavar="STREAM#NUMBER", help="Dismiss a message.")] = "",
    dismissed: Annotated[bool, typer.Option("--dismissed", help="List dismissed messages instead.")] = False,
) -> None:
    """List dead letters and parked messages, with reasons and what to do."""
    from cli.operate import dead as dead_letters

    if bool(retry) + bool(dismiss) + dismissed > 1:
        raise typer.BadParameter("give one of --retry, --dismiss and --dismissed")
    if retry:
        run_with_settings("dead", lambda settings: dead_letters.retry(settings, retry))
    if dismiss:
        run_with_settings("dead", lambda settings: dead_letters.dismiss(settings, dismiss))
    run_with_settings("dead", lambda settings: dead_letters.dead(settings, as_json=as_json, dismissed=dismissed))


@app.command()
def backup(folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")]) -> None:
    """Copy the log, timers, artefacts and SQLite databases into a folder, also while services run."""
    from cli.operate.backup import create_backup

    run_with_settings("backup", lambda settings: create_backup(settings, folder))


@app.command()
def restore(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder that `parley backup` wrote.")],
) -> None:
    """Restore a backup to an empty NATS server and an empty PARLEY_HOME, while no service runs."""
    from cli.operate.backup import restore_backup

    run_with_settings("restore", lambda settings: restore_backup(settings, folder))


@app.command()
def url() -> None:
    """Print the page's URL with the login token, of the local `parley up` or of the gateway's container."""
    from cli.gateway import page_url
    from cli.operate.home import find_running

    settings = load_settings()
    running_parley = None if "nats_url" in settings.model_fields_set else find_running(settings.parley_home)
    print(running_parley.page if running_parley else page_url(settings))


@app.command()
def secrets(
    replace: Annotated[
        str, typer.Option("--set", metavar="NAME", help="Read this one from stdin; empty input resets it.")
    ] = "",
) -> None:
    """In containers: create missing passwords and distribute each to its container."""
    from cli.operate.container_secrets import NoSuchSecret, NotInContainers, distribute_secrets

    try:
        distribute_secrets(load_settings(), replace=replace)
    except NoSuchSecret as error:
        raise typer.BadParameter(str(error), param_hint="--set") from error
    except NotInContainers as error:
        typer.echo(f"parley secrets: {error}", err=True)
        raise typer.Exit(1) from error


if __name__ == "__main__":
    main()
