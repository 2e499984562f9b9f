"""`parley tasks validate`, `correct` and `export`: files of tasks, without a running Parley."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic import JsonValue

from cli.command import Declined
from cli.text import print_visible, visible
from cli.tools import initial_data
from packs.retail.tasks import correct as correcting
from packs.retail.tasks import export as exporting
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import RetailTask, read_tasks
from packs.retail.tasks.validate import TaskReport
from packs.retail.tasks.validate import validate_all as judge
from shared.settings import Settings

MAX_QUOTE = 200  # characters of a value that a line quotes


def shop_of(settings: Settings, folder: Path | None) -> Shop:
    """The store in its initial state. Raises Declined if the folder has no valid data."""
    try:
        return Shop(initial_data(folder or settings.parley_retail_data_dir)())
    except ValueError as error:
        raise Declined(str(error)) from error


async def validate(settings: Settings, file: Path, data: Path | None, *, as_json: bool = False) -> int:
    """Print whether each task is valid, and what is wrong with it."""
    raws = _read(file)
    reports = judge(raws, shop_of(settings, data))
    if as_json:
        print(json.dumps([report.as_json() for report in reports], indent=1, ensure_ascii=False))
    else:
        for number, report in enumerate(reports, 1):
            _print_report(number, report)
        valid = sum(report.valid for report in reports)
        print(f"{valid} of {len(reports)} tasks are valid.")
    return 0 if all(report.valid for report in reports) else 1


async def correct(settings: Settings, file: Path, out: Path, data: Path | None) -> int:
    """Write the corrected tasks to `out`; print corrections and rejections."""
    shop, raws = shop_of(settings, data), _read(file)
    corrected = [correcting.correct(raw, shop) for raw in raws]
    forms = [None if result.task is None else result.task.model_dump(mode="json") for result in corrected]
    reports = judge(forms, shop)  # rejected tasks are included, as duplicates of them count
    results = []
    for number, (result, report) in enumerate(zip(corrected, reports, strict=True), 1):
        for correction in result.corrections:
            where = "" if correction.action is None else f" call {correction.action + 1},"
            change = f"{_short(correction.before)} -> {_short(correction.after)}"
            print_visible(f"task {number}:{where} {correction.field}: {correction.why}: {change}")
        if result.task is None:
            print(visible(f"task {number}: rejected: {'; '.join(result.problems)}"), file=sys.stderr)
            continue
        _print_report(number, report)
        corrections = {"corrections": result.as_json()}
        task = result.task.model_dump(mode="json")
        results.append({"task": task, "validation_report": report.as_json(), "corrections_applied": corrections})
    with _writing(out):
        write_json(out, results)
    count = sum(len(result.corrections) for result in corrected)
    print(f"{out}: {len(results)} of {len(raws)} tasks, {count} corrections.")
    return 0 if len(results) == len(raws) else 1


async def export(settings: Settings, file: Path, out: Path, data: Path | None, tau_bench: Path | None) -> int:
    """Write the valid tasks in the format of tau-bench; print what is left out."""
    shop, raws = shop_of(settings, data), _read(file)
    reports = judge(raws, shop)
    good: list[RetailTask] = []
    for number, (raw, report) in enumerate(zip(raws, reports, strict=True), 1):
        if report.valid:
            good.append(RetailTask.model_validate(raw))
        else:
            _print_report(number, report)
    with _writing(out):
        python, plain = exporting.write(good, shop, out)
    print(f"{python} and {plain}: {len(good)} of {len(raws)} tasks.")
    if tau_bench is not None:
        trial = exporting.try_in_tau_bench(python, tau_bench)
        if trial.problem:
            raise Declined(f"tau-bench did not load them: {trial.problem}")
        print(f"tau-bench made {trial.loaded} of {len(good)} into its own Task ({trial.how}).")
    return 0 if len(good) == len(raws) else 1


def _read(file: Path) -> list[JsonValue]:
    try:
        return read_tasks(file)
    except ValueError as error:
        raise Declined(str(error)) from error


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Declined(f"{path} cannot be written: {error}") from error


def _print_report(number: int, report: TaskReport) -> None:
    if report.valid:
        print(f"task {number}: valid")
    for check in report.wrong:
        print_visible(f"task {number}: {check.name}: {check.detail}")


def _short(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_QUOTE else f"{text[: MAX_QUOTE - 1]}…"


def write_json(path: Path, value: object) -> None:
    """Replace the file atomically by the value as indented JSON. Raises OSError."""
    write_atomically(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_atomically(path: Path, text: str) -> None:
    """Replace the file atomically: readers see the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
