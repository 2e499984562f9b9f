"""What a doctor found out: one row for each thing that was looked at."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rich.table import Table
from rich.text import Text

from cli.visible import visible

Outcome = Literal["ok", "warn", "fail"]
_COLOUR: dict[Outcome, str] = {"ok": "green", "warn": "yellow", "fail": "red"}


class Check(NamedTuple):
    """One row: what was looked at, how it is, and where it is not well, what to do."""

    name: str
    outcome: Outcome
    found: str
    advice: str = ""


def table(checks: Sequence[Check]) -> Table:
    """What to do stands under what was found: side by side both would be too narrow for addresses and paths."""
    shown = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "check", "found, and → what to do"):
        shown.add_column(heading, overflow="fold")
    for check in checks:
        told = Text(visible(check.found))
        if check.advice:
            told.append(f"\n→ {check.advice}", style="bold")
        shown.add_row(Text(check.outcome, style=_COLOUR[check.outcome]), Text(check.name), told)
    return shown


def said(error: BaseException) -> str:
    """An error on one line."""
    return (str(error) or type(error).__name__).strip().splitlines()[0][:160]
