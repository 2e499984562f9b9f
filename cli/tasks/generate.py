"""`parley tasks generate`, `compare` and `scenarios`: make tasks with the running Parley, with a progress bar."""

import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cli.command import Declined, Unreachable
from cli.gateway import find_gateway
from cli.tasks import report
from cli.tasks.batch import write_atomically
from cli.tasks.candidate import TaskResult
from cli.tasks.generator import TaskGenerator
from cli.tasks.task_files import shop_of
from packs.retail.tasks.scenarios import DEFAULT_KINDS, NoScenario, ScenarioKind
from parley.client import NotAllowed, Parley, ParleyError, ParleyUnavailable
from shared.settings import Settings

_FIRST_TIMEOUT = 3  # seconds; after the first contact, an unavailable Parley may be restarting
BASIC, COMPARISON, BATCH = "agentflow_test_task.json", "agentflow_comparison.json", "agentflow_batch_tasks.json"


class GenerateTarget(NamedTuple):
    """The Parley to use, and the data that its store was created from."""

    settings: Settings
    url: str = ""
    data: Path | None = None


class GenerateOptions(NamedTuple):
    """What to generate."""

    number: int = 1
    loop: bool = True
    user: str = ""
    kinds: str = ""
    max_turns: int = 5
    out: Path = Path("tasks.json")
    concurrency: int = 4
    seed: int = 0
    metadata: bool = True


async def generate(target: GenerateTarget, options: GenerateOptions) -> int:
    """Generate tasks into `options.out`. Exit code 1 if there are fewer than requested."""
    async with _generator(target, options) as generator:
        started_at = time.monotonic()
        results = await _generate(generator, options)
        generator.save(results, options.out)
        _state(options.out).unlink(missing_ok=True)
        report.print_summary(Console(), generator, results, options.number, time.monotonic() - started_at)
    print(f"{options.out}: {len(results)} of {options.number} tasks.")
    return 0 if len(results) == options.number else 1


async def compare(target: GenerateTarget, options: GenerateOptions) -> int:
    async with _generator(target, options) as generator:
        return await _compare(generator, options, options.out)


async def scenarios(target: GenerateTarget, options: GenerateOptions) -> int:
    """Make one task, a comparison and a batch. Exit code 1 if any of them fails."""
    async with _generator(target, options) as generator:
        console = Console()
        console.print("Basic: one task by the loop", style="bold")
        basic = await generator.generate_task(max_turns=options.max_turns)
        _save(options.out / BASIC, basic)
        report.print_result(console, basic)
        console.print("Comparison: the same brief directly and by the loop", style="bold")
        failed = await _compare(generator, options, options.out / COMPARISON)
        console.print(f"Batch: {options.number} tasks by the loop", style="bold")
        started_at = time.monotonic()
        batch = options._replace(out=options.out / BATCH)
        results = await _batch(generator, batch)
        generator.save(results, batch.out)
        _state(batch.out).unlink(missing_ok=True)
        report.print_summary(console, generator, results, options.number, time.monotonic() - started_at)
    print(f"{options.out / BASIC}, {options.out / COMPARISON}, {batch.out}")
    return 0 if basic["success"] and not failed and len(results) == options.number else 1


async def _generate(generator: TaskGenerator, options: GenerateOptions) -> list[TaskResult]:
    """A batch; for a given customer, one task after another."""
    if not options.user:
        return await _batch(generator, options)
    results = []
    for _ in range(options.number):
        if options.loop:
            result = await generator.generate_task(
                options.user, include_metadata=options.metadata, max_turns=options.max_turns
            )
        else:
            result = await generator.generate_direct(options.user)
        if result["success"]:
            results.append(result)
    return results


async def _batch(generator: TaskGenerator, options: GenerateOptions) -> list[TaskResult]:
    state = _state(options.out)
    if state.exists():
        print(f"Going on with {state}.", file=sys.stderr)
    columns = (
        TextColumn("tasks"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        bar_task = bar.add_task("tasks", total=options.number, last="")

        def report_progress(done: int, total: int, result: TaskResult) -> None:
            last = "" if result["success"] else f"failed: {result['rejected']}"
            bar.update(bar_task, completed=done, total=total, last=last)

        return await generator.generate_diverse(
            options.number,
            use_agentflow=options.loop,
            progress_callback=report_progress,
            concurrency=options.concurrency,
            max_turns=options.max_turns,
            include_metadata=options.metadata,
            state=state,
        )


async def _compare(generator: TaskGenerator, options: GenerateOptions, out: Path) -> int:
    comparison = await generator.compare(options.user or None, max_turns=options.max_turns)
    _save(out, comparison)
    report.print_comparison(Console(), comparison)
    return 0 if comparison["direct"]["success"] and comparison["agentflow"]["success"] else 1


@contextlib.asynccontextmanager
async def _generator(target: GenerateTarget, options: GenerateOptions) -> AsyncIterator[TaskGenerator]:
    """A generator for the target. Its errors become Unreachable and Declined, with advice."""
    gateway = find_gateway(target.settings, target.url)
    shop = shop_of(target.settings, target.data)
    try:
        async with Parley(gateway.url, token=gateway.token, timeout=_FIRST_TIMEOUT) as parley:
            await parley.me()  # fails before anything is shown or written
        async with Parley(gateway.url, token=gateway.token) as parley:
            yield TaskGenerator(parley, shop.data, options.seed, kinds=_kinds(options.kinds))
    except (ParleyUnavailable, NotAllowed) as error:
        advice = "Start it with `parley up`, or name another with --url; the same command continues where it stopped."
        raise Unreachable(f"{error}\n{advice}") from error
    except (ParleyError, NoScenario) as error:
        raise Declined(str(error)) from error
    except OSError as error:
        raise Declined(f"{error.filename or options.out} cannot be written: {error.strerror}") from error


def _kinds(words: str) -> Sequence[ScenarioKind]:
    """The named kinds, or the default ones; the deck validates them."""
    kinds = [word.strip() for word in words.split(",") if word.strip()]
    return cast("list[ScenarioKind]", kinds) or DEFAULT_KINDS


def _state(out: Path) -> Path:
    """The state file beside the output, from which a run resumes."""
    return out.with_name(f"{out.name}.state")


def _save(path: Path, comparison: dict[str, Any] | TaskResult) -> None:
    write_atomically(path, json.dumps(comparison, indent=1, ensure_ascii=False) + "\n")
