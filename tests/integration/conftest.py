"""Fixtures of integration tests: a gateway over fakes, and a plan_store on the real bus."""

from collections.abc import AsyncIterator

import pytest

from services.plan_store.app import PlanStore
from shared.settings import Settings
from tests.support.gateway import World
from tests.support.stack import running_plan_store


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
async def plan_store(settings: Settings) -> AsyncIterator[PlanStore]:
    async with running_plan_store(settings) as service:
        yield service
