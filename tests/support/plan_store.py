"""For the tests of plan_store: stories told to a log, and all rows of a database."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import select

from services.plan_store.database import Database
from services.plan_store.tables import PROJECTED
from shared.domain import commands as c
from shared.domain.commands import By
from shared.domain.decide import AnyCommand
from shared.domain.session import Session
from shared.events.values import Check, Step
from shared.log import Loaded, commit
from shared.testing import InMemoryLog, InMemoryStore

STEPS = (Step(text="Ask for two numbers"), Step(text="Add them"), Step(text="Print the sum"))
Rows = dict[str, list[tuple[Any, ...]]]


async def rows(database: Database) -> Rows:
    """Every row of every projected table, in the order of its key."""
    found: Rows = {}
    async with database.begin() as tx:
        for table in PROJECTED:
            query = select(table).order_by(*table.primary_key.columns)
            found[table.name] = [tuple(row) for row in await tx.execute(query)]
    return found


class Story:
    """One session's people and workers, writing to an in-memory log."""

    def __init__(self, log: InMemoryLog, session_id: str | None = None, user: str = "ann") -> None:
        self.log, self.user = log, user
        self.id = session_id or uuid4().hex[:16]

    async def now(self) -> Loaded:
        return await InMemoryStore(self.log).load(self.id)

    async def person(self, *commands: AnyCommand) -> Session:
        for command in commands:
            by = By(f"user:{self.user}", datetime.now(UTC), uuid4().hex[:12])
            await commit(self.log, await self.now(), command, by)
        return (await self.now()).session

    async def worker(self, *commands: AnyCommand) -> Session:
        """Whoever is at work does this."""
        for command in commands:
            loaded = await self.now()
            work = loaded.session.work
            actor = work.service if work else "executor"
            await commit(self.log, loaded, command, By(actor, datetime.now(UTC), work=work))
        return (await self.now()).session

    async def approve(self) -> Session:
        session = (await self.now()).session
        item = session.code if session.code and session.code.status == "review" else session.plan
        assert item is not None
        return await self.person(c.Approve(version=item.version, hash=item.hash))

    async def drafted(self, text: str = "Write a calculator", goal: str = "A calculator", **settings: Any) -> Session:
        """A request, and the plan for it in review."""
        await self.person(c.Say(text=text, **settings))
        return await self.worker(c.DraftPlan(goal=goal, steps=STEPS, notes="Keep it small"))

    async def spent(self, model: str = "m", role: str = "planner", tokens: int = 10, cost: float = 0.25) -> Session:
        loaded = await self.now()
        spend = c.Spend(
            model=model,
            role=role,
            prompt_tokens=tokens,
            cached_tokens=2,
            completion_tokens=5,
            cost=cost,
            latency=0.5,
            attempts=1,
        )
        by = By(role, datetime.now(UTC), id=f"spend-{uuid4().hex[:8]}")
        await commit(self.log, loaded, spend, by)
        return (await self.now()).session

    async def whole(self) -> Session:
        """A conversation from its request to approved code that was run, with everything in between."""
        await self.drafted()
        await self.spent()
        await self.person(c.Reject(), c.Say(text="With floats, please"))
        await self.worker(c.DraftPlan(goal="A calculator for floats", steps=STEPS[:2]))
        session = (await self.now()).session
        assert session.plan is not None
        await self.person(c.EditPlan(base=session.plan.version, steps=(STEPS[1], STEPS[0])))
        await self.approve()
        await self.worker(c.DraftCode(code="print(1 / 0)\n", explanation="first"))
        await self.worker(c.VerifyCode(checks=(Check(name="tests", ok=False, detail="it divides by zero"),)))
        await self.worker(c.DraftCode(code="print(1.5 + 2)\n", explanation="second"))
        await self.worker(c.VerifyCode(checks=(Check(name="tests", ok=True),), tests="def test(): ..."))
        await self.approve()
        await self.person(c.Share(user="bob", write=True), c.Rename(title="My 100% calculator"), c.Run(stdin="1"))
        await self.worker(c.Start())
        await self.worker(c.Finish(action_id="1.1", ok=True, result={"stdout": "3.5\n"}, seconds=0.25))
        await self.worker(c.VerifyTurn(status="success", next_action="complete", reasoning="it printed 3.5"))
        return await self.person(c.Complete())
