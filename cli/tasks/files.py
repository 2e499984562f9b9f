"""`parley tasks validate`, `correct` and `export`: files of tasks, without a running Parley."""

import json
import sys
from pathlib import Path

from pydantic import JsonValue

from cli.command import Declined
from cli.tasks.batch import write
from cli.tools import base
from cli.visible import print_visible, visible
from packs.retail.tasks import correct as correcting
from packs.retail.tasks import export as exporting
from packs.retail.tasks import task as tasks
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import Task
from packs.retail.tasks.validate import Report, parse
from packs.retail.tasks.validate import validate_all as judge
from shared.settings import Settings

_SHOWN = 200  # characters of a value that a line quotes


def shop_of(settings: Settings, folder: Path | None) -> Shop:
    """The store in its first state. Raises Declined where the folder is none."""
    try:
        return Shop(base(folder or settings.parley_retail_data_dir)())
    except ValueError as error:
        raise Declined(str(error)) from error


async def validate(settings: Settings, file: Path, data: Path | None, *, as_json: bool = False) -> int:
    """One line a task, and what is wrong with it."""
    raws = _read(file)
    reports = judge(raws, shop_of(settings, data))
    if as_json:
        print(json.dumps([report.as_json() for report in reports], indent=1, ensure_ascii=False))
    else:
        for number, report in enumerate(reports, 1):
            _tell(number, report)
        valid = sum(report.valid for report in reports)
        print(f"{valid} of {len(reports)} tasks are valid.")
    return 0 if all(report.valid for report in reports) else 1


async def correct(settings: Settings, file: Path, out: Path, data: Path | None) -> int:
    """The corrected tasks into `out`; corrections and rejections are said."""
    shop = shop_of(settings, data)
    raws = _read(file)
    made = [correcting.correct(raw, shop) for raw in raws]
    forms = [None if one.task is None else one.task.model_dump(mode="json") for one in made]
    reports = judge(forms, shop)  # also of those that are rejected: they count
    results = []
    for number, (one, report) in enumerate(zip(made, reports, strict=True), 1):
        for correction in one.corrections:
            where = "" if correction.action is None else f" call {correction.action + 1},"
            change = f"{_short(correction.before)} -> {_short(correction.after)}"
            print_visible(f"task {number}:{where} {correction.field}: {correction.why}: {change}")
        if one.task is None:
            print(visible(f"task {number}: rejected: {'; '.join(one.problems)}"), file=sys.stderr)
            continue
        _tell(number, report)
        told = {"corrections": one.as_json()}
        task = tasks.as_json(one.task)
        results.append({"task": task, "validation_report": report.as_json(), "corrections_applied": told})
    _write(out, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    count = sum(len(one.corrections) for one in made)
    print(f"{out}: {len(results)} of {len(raws)} tasks, {count} corrections.")
    return 0 if len(results) == len(raws) else 1


async def export(settings: Settings, file: Path, out: Path, data: Path | None, tau_bench: Path | None) -> int:
    """The valid ones as tau-bench's; what is left out is said."""
    shop = shop_of(settings, data)
    raws = _read(file)
    reports = judge(raws, shop)
    good: list[Task] = []
    for number, (raw, report) in enumerate(zip(raws, reports, strict=True), 1):
        task = parse(raw)
        if report.valid and isinstance(task, Task):
            good.append(task)
        else:
            _tell(number, report)
    try:
        python, plain = exporting.write(good, shop, out)
    except OSError as error:
        raise Declined(f"{out} cannot be written: {error}") from error
    print(f"{python} and {plain}: {len(good)} of {len(raws)} tasks.")
    if tau_bench is not None:
        tried = exporting.trial(python, tau_bench)
        if tried.trouble:
            raise Declined(f"tau-bench did not load them: {tried.trouble}")
        print(f"tau-bench made {tried.loaded} of {len(good)} into its own Task ({tried.how}).")
        return 0 if tried.loaded == len(good) == len(raws) else 1
    return 0 if len(good) == len(raws) else 1


def _read(file: Path) -> list[JsonValue]:
    try:
        return tasks.read(file)
    except ValueError as error:
        raise Declined(str(error)) from error


def _write(path: Path, text: str) -> None:
    try:
        write(path, text)
    except OSError as error:
        raise Declined(f"{path} cannot be written: {error}") from error


def _tell(number: int, report: Report) -> None:
    if report.valid:
        print(f"task {number}: valid")
    for check in report.wrong:
        print_visible(f"task {number}: {check.name}: {check.detail}")


def _short(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
