"""What a doctor found out: one row for each thing that was looked at."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rich.markup import escape
from rich.table import Table

Outcome = Literal["ok", "warn", "fail"]
_COLOUR: dict[Outcome, str] = {"ok": "green", "warn": "yellow", "fail": "red"}


class Check(NamedTuple):
    """One row: what was looked at, how it is, and where it is not well, what to do."""

    name: str
    outcome: Outcome
    found: str
    advice: str = ""


def table(checks: Sequence[Check]) -> Table:
    shown = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "check", "found", "what to do"):
        shown.add_column(heading, overflow="fold")
    for check in checks:
        shown.add_row(
            f"[{_COLOUR[check.outcome]}]{check.outcome}", check.name, escape(check.found), escape(check.advice)
        )
    return shown


def said(error: BaseException) -> str:
    """An error on one line."""
    return (str(error) or type(error).__name__).strip().splitlines()[0][:160]
