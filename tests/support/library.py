"""The library of plan_store for contract tests: queries after all sessions are projected."""

from typing import Any

from services.plan_store.database import ProjectionDatabase
from services.plan_store.handlers import RequestHandlers
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.projection.projector import Projector
from shared import store_api as api
from shared.store_api import LibraryEntry
from shared.testing import InMemoryLog, session_ids
from tests.contract.test_plan_store_requests import Client
from tests.support.plan_store import rows
from tests.support.plan_store_paths import Walk


class Library:
    """Queries the library after projecting all sessions."""

    def __init__(self, log: InMemoryLog, database: ProjectionDatabase, projector: Projector) -> None:
        self.log, self.database, self._projector = log, database, projector
        self.client = Client(RequestHandlers(log, database, projector).responders())

    async def page(self, **fields: Any) -> api.LibraryPage:
        await self._project_all()
        return await self.client.ask(api.LIBRARY_LIST, **{"user": "ann"} | fields)

    async def requests(self, **fields: Any) -> list[str]:
        return [entry.request for entry in (await self.page(**fields)).items]

    async def entry(self, **fields: Any) -> LibraryEntry:
        [entry] = (await self.page(**fields)).items
        return entry

    async def similar(self, query: str, **fields: Any) -> list[str]:
        await self._project_all()
        page = await self.client.ask(api.LIBRARY_SIMILAR, **{"user": "ann", "query": query} | fields)
        return [entry.request for entry in page.items]

    async def proposals(self, **fields: Any) -> api.ProposalPage:
        await self._project_all()
        return await self.client.ask(api.PROPOSAL_LIST, **{"user": "ann"} | fields)

    async def assert_unchanged_by_rebuild(self) -> None:
        await self._project_all()
        before = await rows(self.database)
        await rebuild_from(self.log, self.database, lambda *_: None)
        assert await rows(self.database) == before

    async def add_accepted(self, *requests: str, user: str = "ann", saved: bool = False) -> None:
        for request in requests:
            walk = Walk(self.log, user=user)
            await walk.answered(request)
            await walk.judge(saved=saved)

    async def _project_all(self) -> None:
        for session_id in await session_ids(self.log):
            await self._projector.load(session_id)


def tools(*nodes: str) -> tuple[str, ...]:
    return tuple(f"text_to_sql.{node}" for node in nodes)
