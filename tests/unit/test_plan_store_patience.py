"""Waiting for what is away: with all that wait together, and without filling the log with it."""

import asyncio

import pytest
from structlog.testing import capture_logs

from services.plan_store import patience
from services.plan_store.database import DatabaseDown
from shared.log import LogDown


async def test_many_who_wait_for_the_same_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_told", {})
    tries = 0

    async def attempt() -> str:
        nonlocal tries
        tries += 1
        if tries <= 50:
            raise DatabaseDown("it is locked") if tries % 2 else LogDown("no leader")
        return "done"

    with capture_logs() as lines:
        found = await asyncio.gather(*(patience.patiently(attempt, first=0.001) for _ in range(10)))
    assert found == ["done"] * 10
    assert [(line["event"], line["reason"]) for line in lines] == [("waiting", "DatabaseDown"), ("waiting", "LogDown")]
