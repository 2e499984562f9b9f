"""The result of one check of `parley doctor`, and the table of all results."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rich.table import Table
from rich.text import Text

from cli.text import visible

Outcome = Literal["ok", "warn", "fail"]
_COLOUR: dict[Outcome, str] = {"ok": "green", "warn": "yellow", "fail": "red"}


class DoctorCheck(NamedTuple):
    """One row of the report: what was checked, the outcome, the finding, and what to do about it."""

    name: str
    outcome: Outcome
    finding: str
    advice: str = ""


def check_table(checks: Sequence[DoctorCheck]) -> Table:
    """The report. Advice goes below the finding: two columns would be too narrow for URLs and paths."""
    report = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "check", "found, and → what to do"):
        report.add_column(heading, overflow="fold")
    for check in checks:
        text = Text(visible(check.finding))
        if check.advice:
            text.append(f"\n→ {check.advice}", style="bold")
        report.add_row(Text(check.outcome, style=_COLOUR[check.outcome]), Text(check.name), text)
    return report


def first_line(error: BaseException) -> str:
    """The first line of an error's message, at most 160 characters."""
    return (str(error) or type(error).__name__).strip().splitlines()[0][:160]
