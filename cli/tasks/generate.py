"""`parley tasks generate`, `compare` and `scenarios`: tasks by the running Parley, with a bar, figures and reasons."""

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
from cli.tasks import show
from cli.tasks.batch import write
from cli.tasks.files import shop_of
from cli.tasks.generator import TaskGenerator
from cli.tasks.stages import Result
from packs.retail.tasks.briefs import DEALT, Kind, NoScenario
from parley.client import NotAllowed, Parley, ParleyDown, ParleyError
from shared.settings import Settings

_FIRST_PATIENCE = 3  # seconds; later one that is away may be starting again
BASIC, COMPARISON, BATCH = "agentflow_test_task.json", "agentflow_comparison.json", "agentflow_batch_tasks.json"


class Place(NamedTuple):
    """Which Parley, and which data its store began with."""

    settings: Settings
    url: str = ""
    data: Path | None = None


class Wanted(NamedTuple):
    """What to make."""

    number: int = 1
    loop: bool = True
    user: str = ""
    kinds: str = ""
    max_turns: int = 5
    out: Path = Path("tasks.json")
    concurrency: int = 4
    seed: int = 0
    metadata: bool = True


async def generate(place: Place, wanted: Wanted) -> int:
    """Into `wanted.out`; exit code 1 where fewer came of it than were wanted."""
    async with _generator(place, wanted) as generator:
        begun = time.monotonic()
        results = await _results(generator, wanted)
        generator.save(results, wanted.out)
        _state(wanted.out).unlink(missing_ok=True)
        show.summary(Console(), generator, results, wanted.number, time.monotonic() - begun)
    print(f"{wanted.out}: {len(results)} of {wanted.number} tasks.")
    return 0 if len(results) == wanted.number else 1


async def compare(place: Place, wanted: Wanted) -> int:
    async with _generator(place, wanted) as generator:
        return await _compared(generator, wanted, wanted.out)


async def scenarios(place: Place, wanted: Wanted) -> int:
    """The three of them, one after the other, and the exit code of the worst."""
    async with _generator(place, wanted) as generator:
        console = Console()
        console.print("Basic: one task by the loop", style="bold")
        basic = await generator.generate_task(max_turns=wanted.max_turns)
        _save(wanted.out / BASIC, basic)
        show.one(console, basic)
        console.print("Comparison: the same brief directly and by the loop", style="bold")
        compared = await _compared(generator, wanted, wanted.out / COMPARISON)
        console.print(f"Batch: {wanted.number} tasks by the loop", style="bold")
        begun = time.monotonic()
        batch = wanted._replace(out=wanted.out / BATCH)
        results = await _batch(generator, batch)
        generator.save(results, batch.out)
        _state(batch.out).unlink(missing_ok=True)
        show.summary(console, generator, results, wanted.number, time.monotonic() - begun)
    print(f"{wanted.out / BASIC}, {wanted.out / COMPARISON}, {batch.out}")
    return 0 if basic["success"] and not compared and len(results) == wanted.number else 1


async def _results(generator: TaskGenerator, wanted: Wanted) -> list[Result]:
    """A batch; for one customer, one after the other."""
    if not wanted.user:
        return await _batch(generator, wanted)
    results = []
    for _ in range(wanted.number):
        if wanted.loop:
            result = await generator.generate_task(
                wanted.user, include_metadata=wanted.metadata, max_turns=wanted.max_turns
            )
        else:
            result = await generator.generate_direct(wanted.user)
        if result["success"]:
            results.append(result)
    return results


async def _batch(generator: TaskGenerator, wanted: Wanted) -> list[Result]:
    state = _state(wanted.out)
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
        shown = bar.add_task("tasks", total=wanted.number, last="")

        def told(done: int, total: int, result: Result) -> None:
            last = "" if result["success"] else f"given up: {result['rejected']}"
            bar.update(shown, completed=done, total=total, last=last)

        return await generator.generate_diverse(
            wanted.number,
            use_agentflow=wanted.loop,
            progress_callback=told,
            concurrency=wanted.concurrency,
            max_turns=wanted.max_turns,
            include_metadata=wanted.metadata,
            state=state,
        )


async def _compared(generator: TaskGenerator, wanted: Wanted, out: Path) -> int:
    found = await generator.compare(wanted.user or None, max_turns=wanted.max_turns)
    _save(out, found)
    show.compared(Console(), found)
    return 0 if found["direct"]["success"] and found["agentflow"]["success"] else 1


@contextlib.asynccontextmanager
async def _generator(place: Place, wanted: Wanted) -> AsyncIterator[TaskGenerator]:
    """For the Parley that is meant; what goes wrong there is said in this command line's words."""
    gateway = find_gateway(place.settings, place.url)
    shop = shop_of(place.settings, place.data)
    try:
        async with Parley(gateway.url, token=gateway.token, patience=_FIRST_PATIENCE) as parley:
            await parley.me()  # before anything is shown or written
        async with Parley(gateway.url, token=gateway.token) as parley:
            yield TaskGenerator(parley, shop.data, wanted.seed, kinds=_kinds(wanted.kinds))
    except (ParleyDown, NotAllowed) as error:
        advice = "Start it with `parley up`, or name another with --url; the same command goes on where it was."
        raise Unreachable(f"{error}\n{advice}") from error
    except (ParleyError, NoScenario) as error:
        raise Declined(str(error)) from error
    except OSError as error:
        raise Declined(f"{error.filename or wanted.out} cannot be written: {error.strerror}") from error


def _kinds(words: str) -> Sequence[Kind]:
    """As they are named; the deck knows which there are."""
    named = [word.strip() for word in words.split(",") if word.strip()]
    return cast("list[Kind]", named) or DEALT


def _state(out: Path) -> Path:
    """Beside the output: what is needed to go on."""
    return out.with_name(f"{out.name}.state")


def _save(path: Path, found: dict[str, Any] | Result) -> None:
    write(path, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
