"""Sessions built from commands, on a log to which other writers may append."""

from typing import Any
from uuid import uuid4

from parley.events.values import Check, ModelCall, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.log import ReplicatedLog
from shared.story import Story, finish_action

STEPS = (Step(text="Ask for two numbers"), Step(text="Add them"), Step(text="Print the sum"))
CODE = "print(1.5 + 2)\n"


def approve(session: Session) -> c.Approve:
    """Approve the plan or the code in review, by its version and hash."""
    item = session.code if session.code and session.code.status == "review" else session.plan
    assert item is not None
    return c.Approve(version=item.version, hash=item.hash)


def spent(tokens: int = 10, **more: Any) -> c.RecordUsage:
    """The cost of one model call."""
    fields = {"model": "m", "role": "planner", "prompt_tokens": tokens, "cached_tokens": 2, "completion_tokens": 5}
    call = ModelCall.model_validate(fields | {"cost": 0.25, "latency": 0.5, "attempt": 1} | more)
    return c.RecordUsage(calls=(call,))


class Conversation(Story):
    """Builds one session on this log, with a random id by default."""

    def __init__(self, log: ReplicatedLog, session_id: str = "", user: str = "ann") -> None:
        super().__init__(session_id or uuid4().hex[:16], log=log, user=user)

    async def drafts(self, goal: str = "A calculator", steps: tuple[Step, ...] = STEPS) -> Session:
        return await self.commit(c.DraftPlan(goal=goal, steps=steps))

    async def codes(self, code: str = CODE) -> Session:
        """The generator drafts code, and its checks pass."""
        checked = c.VerifyCode(checks=(Check(name="tests", ok=True),), tests="def test(): ...")
        return await self.commit(c.DraftCode(code=code, explanation="It adds."), checked)

    async def plan(
        self, text: str = "Help me create a simple calculator", goal: str = "A calculator", user: str = "", **more: Any
    ) -> Session:
        """Send a request and draft its plan, which is then in review."""
        await self.commit(c.Say(text=text, **more), user=user)
        return await self.drafts(goal)

    async def whole(self) -> Session:
        """A completed session: rejected, edited and approved plan, code in two versions, a run and its verdict."""
        await self.plan()
        await self.commit(spent(), c.Reject(), c.Say(text="With floats, please"))
        await self.drafts("A calculator for floats", STEPS[:2])
        session = self.session
        assert session.plan is not None
        await self.commit(
            c.EditPlan(base=session.plan.version, steps=(STEPS[1], STEPS[0])),
            approve,
            c.DraftCode(code="print(1 / 0)\n", explanation="first"),
            c.VerifyCode(checks=(Check(name="tests", ok=False, detail="it divides by zero"),)),
        )
        await self.codes()
        return await self.commit(
            approve,
            c.Share(user="bob", role="approver"),
            c.Rename(title="My 100% calculator"),
            c.Run(stdin="1"),
            c.Start(),
            finish_action(action_id="1.1", ok=True, result={"stdout": "3.5\n"}, seconds=0.25),
            c.VerifyTurn(status="success", next_action="complete", reasoning="it printed 3.5"),
            c.Complete(),
        )
