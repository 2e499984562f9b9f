"""`parley tasks generate`, `compare` and `scenarios`: make tasks with the running Parley, with a progress bar."""

import contextlib
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cli.command import Declined, Unreachable
from cli.gateway import find_gateway
from cli.tasks import report
from cli.tasks.candidate import TaskResult
from cli.tasks.generator import TaskGenerator
from cli.tasks.task_files import shop_of, write_json
from packs.retail.tasks.scenarios import DEFAULT_KINDS, NoScenario
from parley.client import NotAllowed, Parley, ParleyError, ParleyUnavailable
from shared.settings import Settings

MAX_TASKS = 10_000
_FIRST_TIMEOUT = 3  # seconds; after the first contact, an unavailable Parley may be restarting
BASIC, COMPARISON, BATCH = "agentflow_test_task.json", "agentflow_comparison.json", "agentflow_batch_tasks.json"


class GenerateOptions(NamedTuple):
    """What to generate, with which Parley (`url`), from which `data` its store was created."""

    number: int = 1
    loop: bool = True
    user: str = ""
    kinds: str = ""
    max_turns: int = 5
    out: Path = Path("tasks.json")
    concurrency: int = 4
    seed: int = 0
    metadata: bool = True
    data: Path | None = None
    url: str = ""


async def generate_interactively(settings: Settings) -> int:
    """Ask for the options on the terminal, and generate the tasks."""
    loop = typer.confirm("Use the multi-turn loop?", default=True)
    many = typer.confirm("Make several, varied tasks?", default=False)
    number = _ask_number() if many else 1
    if many and loop:
        loop = typer.confirm("The loop for all of them?", default=True)
    user = "" if many else typer.prompt("For which customer (empty: any)?", default="", show_default=False)
    return await generate(settings, GenerateOptions(number=number, loop=loop, user=user.strip()))


async def generate(settings: Settings, options: GenerateOptions) -> int:
    """Generate tasks into `options.out`. Exit code 1 if there are fewer than requested."""
    async with _generator(settings, options) as generator:
        number = await _batch(generator, options, options.out)
    print(f"{options.out}: {number} of {options.number} tasks.")
    return 0 if number == options.number else 1


async def compare(settings: Settings, options: GenerateOptions) -> int:
    async with _generator(settings, options) as generator:
        return 0 if await _compare(generator, options, options.out) else 1


async def scenarios(settings: Settings, options: GenerateOptions) -> int:
    """Make one task, a comparison and a batch. Exit code 1 if any of them fails."""
    basic_file, comparison_file, batch_file = (options.out / name for name in (BASIC, COMPARISON, BATCH))
    async with _generator(settings, options) as generator:
        console = Console()
        console.print("Basic: one task by the loop", style="bold")
        basic = await generator.generate_task(max_turns=options.max_turns)
        write_json(basic_file, basic)
        report.print_result(console, basic)
        console.print("Comparison: the same brief directly and by the loop", style="bold")
        compared = await _compare(generator, options, comparison_file)
        console.print(f"Batch: {options.number} tasks by the loop", style="bold")
        number = await _batch(generator, options, batch_file)
    print(f"{basic_file}, {comparison_file}, {batch_file}")
    return 0 if basic["success"] and compared and number == options.number else 1


async def _batch(generator: TaskGenerator, options: GenerateOptions, out: Path) -> int:
    """Make a batch into `out`, with a state file beside it to resume from. Returns the number of tasks."""
    started_at = time.monotonic()
    state = out.with_name(f"{out.name}.state")
    if state.exists():
        print(f"Going on with {state}.", file=sys.stderr)
    last = TextColumn("{task.fields[last]}")
    columns = (TextColumn("tasks"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), last)
    with Progress(*columns, console=Console(stderr=True)) as bar:
        bar_task = bar.add_task("tasks", total=options.number, last="")

        def report_progress(done: int, total: int, result: TaskResult) -> None:
            last = "" if result["success"] else f"failed: {result['rejected']}"
            bar.update(bar_task, completed=done, total=total, last=last)

        results = await generator.generate_diverse(
            options.number,
            use_agentflow=options.loop,
            progress_callback=report_progress,
            concurrency=options.concurrency,
            max_turns=options.max_turns,
            include_metadata=options.metadata,
            state=state,
            custom_user=options.user or None,
        )
    generator.save(results, out)
    state.unlink(missing_ok=True)
    report.print_summary(Console(), generator, results, options.number, time.monotonic() - started_at)
    return len(results)


async def _compare(generator: TaskGenerator, options: GenerateOptions, out: Path) -> bool:
    comparison = await generator.compare(options.user or None, max_turns=options.max_turns)
    write_json(out, comparison)
    report.print_comparison(Console(), comparison)
    return bool(comparison["direct"]["success"] and comparison["agentflow"]["success"])


@contextlib.asynccontextmanager
async def _generator(settings: Settings, options: GenerateOptions) -> AsyncIterator[TaskGenerator]:
    """A generator for the options. Its errors become Unreachable and Declined, with advice."""
    gateway, shop = find_gateway(settings, options.url), shop_of(settings, options.data)
    kinds = [word.strip() for word in options.kinds.split(",") if word.strip()]  # the deck validates them
    try:
        async with Parley(gateway.url, token=gateway.token, timeout=_FIRST_TIMEOUT) as parley:
            await parley.me()  # fails before anything is shown or written
        async with Parley(gateway.url, token=gateway.token) as parley:
            yield TaskGenerator(parley, shop.data, options.seed, kinds=kinds or DEFAULT_KINDS)
    except (ParleyUnavailable, NotAllowed) as error:
        advice = "Start it with `parley up`, or name another with --url; the same command continues where it stopped."
        raise Unreachable(f"{error}\n{advice}") from error
    except (ParleyError, NoScenario) as error:
        raise Declined(str(error)) from error
    except OSError as error:
        raise Declined(f"{error.filename or options.out} cannot be written: {error.strerror}") from error


def _ask_number() -> int:
    while not 1 <= (number := typer.prompt("How many?", default=5, type=int)) <= MAX_TASKS:
        typer.echo(f"A number from 1 to {MAX_TASKS}, please.")
    return int(number)
