"""`parley tasks`: the command group."""

# ruff: noqa: PLC0415, PLR0913, PLR0917  imports where they are needed; a command has as many options as it has

from pathlib import Path
from typing import Annotated

import typer

from cli.command import run_with_settings

app = typer.Typer(
    help="Test tasks for agents over the retail store: make, validate, correct, export and compare them.",
    rich_markup_mode=None,
)

Data = Annotated[
    Path | None, typer.Option("--data", help="The store's folder with users.json, orders.json and products.json.")
]
Url = Annotated[str, typer.Option(help="The gateway, like http://127.0.0.1:8001.")]
Seed = Annotated[int, typer.Option(help="The seed for customers and requests.")]
Turns = Annotated[int, typer.Option("--max-turns", min=1, max=100, help="The most turns of the loop.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="Tasks as JSON, JSON lines, or the output of generate.")]
User = Annotated[str, typer.Option(help="Only for this customer.")]
Direct = Annotated[bool, typer.Option("--direct", help="Without the loop: one model call per task.")]
Kinds = Annotated[str, typer.Option(help="Only these kinds, like cancel,return,lookup.")]
Count = Annotated[int, typer.Option("-n", "--number", min=1, max=10_000, help="How many tasks.")]
AtOnce = Annotated[int, typer.Option(min=1, max=64, help="How many to make concurrently.")]


@app.callback(invoke_without_command=True)
def tasks(context: typer.Context) -> None:
    """Without a command, on a terminal: asks what to make."""
    import sys

    if context.invoked_subcommand is not None:
        return
    if not sys.stdin.isatty():
        print(context.get_help())
        raise typer.Exit(2)
    from cli.tasks.generate import generate_interactively

    run_with_settings("tasks", generate_interactively)


@app.command()
def generate(
    number: Count = 1,
    direct: Direct = False,
    user: User = "",
    kinds: Kinds = "",
    max_turns: Turns = 5,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file for the tasks.")] = Path("tasks.json"),
    concurrency: AtOnce = 4,
    seed: Seed = 0,
    no_metadata: Annotated[bool, typer.Option("--no-metadata", help="Leave out the record of the loop.")] = False,
    data: Data = None,
    url: Url = "",
) -> None:
    """Make tasks with the running Parley. After an interruption, the same command continues."""
    from cli.tasks import generate as generation

    options = generation.GenerateOptions(
        number, not direct, user, kinds, max_turns, out, concurrency, seed, not no_metadata, data, url
    )
    run_with_settings("tasks", lambda settings: generation.generate(settings, options))


@app.command()
def compare(
    user: User = "",
    kinds: Kinds = "",
    max_turns: Turns = 5,
    out: Annotated[Path, typer.Option("--out", "-o", help="The JSON file.")] = Path("agentflow_comparison.json"),
    seed: Seed = 0,
    data: Data = None,
    url: Url = "",
) -> None:
    """Make a task from one brief twice, directly and by the loop, and compare them."""
    from cli.tasks import generate as generation

    options = generation.GenerateOptions(
        user=user, kinds=kinds, max_turns=max_turns, out=out, seed=seed, data=data, url=url
    )
    run_with_settings("tasks", lambda settings: generation.compare(settings, options))


@app.command()
def scenarios(
    number: Count = 5,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the three files.")] = Path(),
    max_turns: Turns = 5,
    concurrency: AtOnce = 4,
    seed: Seed = 0,
    data: Data = None,
    url: Url = "",
) -> None:
    """Make one task, a comparison and a batch (-n), each in its own JSON file."""
    from cli.tasks import generate as generation

    options = generation.GenerateOptions(
        number, max_turns=max_turns, out=out, concurrency=concurrency, seed=seed, data=data, url=url
    )
    run_with_settings("tasks", lambda settings: generation.scenarios(settings, options))


@app.command()
def validate(
    file: File,
    data: Data = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the reports as JSON.")] = False,
) -> None:
    """Replay each task on a fresh store and check it; exit code 1 if any is not valid."""
    from cli.tasks import task_files as files

    run_with_settings("tasks", lambda settings: files.validate(settings, file, data, as_json=as_json))


@app.command()
def correct(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file for the corrected tasks.")],
    data: Data = None,
) -> None:
    """Correct the form of tasks, list every correction, and reject the rest (exit code 1)."""
    from cli.tasks import task_files as files

    run_with_settings("tasks", lambda settings: files.correct(settings, file, out, data))


@app.command()
def export(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder for the Python module and the JSON.")],
    tau_bench: Annotated[
        Path | None, typer.Option("--tau-bench", metavar="DIR", help="Test that this checkout of tau-bench loads them.")
    ] = None,
    data: Data = None,
) -> None:
    """Write valid tasks in tau-bench's own format."""
    from cli.tasks import task_files as files

    run_with_settings("tasks", lambda settings: files.export(settings, file, out, data, tau_bench))
