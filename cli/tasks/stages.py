"""What one candidate for a test task goes through: drafted, carried out by the loop, judged, carried out once more.

Each stage is a session of its own, in a copy of the store of its own. Its id follows from the candidate's name, so a
candidate that is begun again after a crash finds the sessions that were begun before and goes on with them.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict

from pydantic import JsonValue

from cli.tasks.trace import Trace, trace
from packs.retail.policy import RULES
from packs.retail.tasks.briefs import Brief
from packs.retail.tasks.correct import Corrected, correct
from packs.retail.tasks.outputs import answered
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import WRITES, Task, TaskCall
from packs.retail.tasks.validate import Check, validate
from parley.client.client import Parley, Session
from parley.events import facts
from parley.events.values import Knowledge, SessionSettings
from shared.repair.values import NOT_READ, parsed

REQUEST = "Make a test task of the brief: this customer, who wants what its scenario says."
QUESTIONS = 3  # that are answered for the customer in one session
_REASON = "Ended by the task generator."


class Result(TypedDict):
    """What becomes of a candidate. With success: task and reports; else `error`, and `rejected` in a word or two."""

    success: bool
    spent: dict[str, Any]
    task: NotRequired[dict[str, Any]]
    agentflow_metadata: NotRequired[dict[str, Any]]
    validation_report: NotRequired[dict[str, Any]]
    corrections_applied: NotRequired[dict[str, Any]]
    error: NotRequired[str]
    rejected: NotRequired[str]


@dataclass(frozen=True)
class Options:
    """`patience`: seconds until a session that comes to no end is given up."""

    agentflow: bool = True
    include_metadata: bool = True
    max_turns: int = 5
    patience: float = 600


class Rejected(Exception):
    """The candidate is not to be used; `why` in a word or two."""

    def __init__(self, why: str, detail: str) -> None:
        super().__init__(detail)
        self.why = why


class Candidate:
    """One brief on its way to a task. `name` is its own: letters, digits, _ and -, at most 56."""

    def __init__(self, parley: Parley, shop: Shop, brief: Brief, name: str, options: Options) -> None:
        self._parley, self._shop, self._brief, self._name, self._options = parley, shop, brief, name, options
        self._traces: list[Trace] = []

    async def result(self) -> Result:
        """Never raises for what a model did wrong; ParleyError when Parley cannot be reached."""
        try:
            found = await (self._looped() if self._options.agentflow else self._direct())
        except Rejected as error:
            found = {"success": False, "error": str(error), "rejected": error.why, "spent": {}}
        found["spent"] = self._spent()
        return found

    async def _direct(self) -> Result:
        drafted = await self._draft()
        if drafted.task is None:
            raise Rejected("draft unusable", "; ".join(drafted.problems))
        return self._judged(drafted.task, drafted, [])

    async def _looped(self) -> Result:
        drafted = await self._draft()
        if drafted.task is None:
            raise Rejected("draft unusable", "; ".join(drafted.problems))
        draft = drafted.task
        loop = await self._run("loop", draft.q, self._customer)
        _must_be_answered("loop", loop)
        calls = tuple(TaskCall(name=one.tool, arguments=one.arguments) for one in loop.writes)
        told = tuple(output for output in draft.ogt if answered(output, loop.session.answer.text))
        task = Task(q=draft.q, agt=calls, ogt=told)
        self._must_be_whole(draft, task, loop)
        result = self._judged(task, drafted, _differences(draft, task))
        again = await self._run("again", task.q, lambda _: f"I have told you all I know. {task.q}")
        check = self._solvable(task, again)
        report = result["validation_report"]
        report["checks"].append(check.model_dump(mode="json"))
        if not check.ok:
            raise Rejected("not solvable", check.detail)
        if self._options.include_metadata:
            ids = [one.session.id for one in self._traces]
            result["agentflow_metadata"] = loop.metadata() | {"session_ids": ids}
        return result

    async def _draft(self) -> Corrected:
        brief = Knowledge(name="brief", text=json.dumps(self._brief.as_json(), ensure_ascii=False))
        rules = Knowledge(name="rules", text="\n".join(RULES))
        drafted = await self._run("draft", REQUEST, None, brief, rules)
        _must_be_answered("draft", drafted)
        found = parsed(drafted.session.answer.text, dict)
        if found is NOT_READ:
            raise Rejected("draft unusable", f"the draft is no JSON object: {drafted.session.answer.text[:200]}")
        if isinstance(found, dict):
            found.pop("reasoning", None)  # said beside the task, no part of it
        return correct(found, self._shop)

    def _judged(self, task: Task, drafted: Corrected, differences: list[dict[str, JsonValue]]) -> Result:
        """The result if the task is sound. Raises Rejected."""
        if not task.agt and not task.ogt:
            raise Rejected("nothing to do", "neither is anything changed nor is anything to be answered")
        report = validate(task, self._shop)
        if not report.valid:
            detail = "; ".join(f"{check.name}: {check.detail}" for check in report.wrong)
            raise Rejected(f"invalid: {', '.join(check.name for check in report.wrong)}", detail)
        return {
            "success": True,
            "task": task.model_dump(mode="json"),
            "validation_report": report.as_json(),
            "corrections_applied": {"corrections": drafted.as_json(), "differences": differences},
            "spent": {},
        }

    def _must_be_whole(self, draft: Task, task: Task, loop: Trace) -> None:
        """What was feasible and asked for must have been done, else the right end of the task is not known."""
        if not loop.complete:
            raise Rejected("loop ran out of turns", f"the loop used up its turns: {loop.session.answer.text[:500]}")
        if not validate(draft, self._shop).valid:
            return
        touched = {_about(call) for call in task.agt}
        undone = [call.name for call in draft.agt if call.name in WRITES and _about(call) not in touched]
        undone += [f"to tell {output!r}" for output in draft.ogt if output not in task.ogt]
        if undone:
            raise Rejected("loop left it undone", f"{', '.join(undone)}; it said: {loop.session.answer.text[:500]}")

    def _solvable(self, task: Task, again: Trace) -> Check:
        """Did somebody who knew only the instruction come to the same data and the same answers?"""
        if not again.answered:
            return Check(name="solvable", ok=False, detail=f"the independent run {again.ended}")
        calls = [TaskCall(name=one.tool, arguments=one.arguments) for one in again.writes]
        wrong = []
        if self._shop.after(calls) != self._shop.after(task.agt):
            made = ", ".join(call.name for call in calls) or "nothing"
            wrong.append(f"the independent run left other data: it did {made}")
        wrong += [f"it did not tell {one!r}" for one in task.ogt if not answered(one, again.session.answer.text)]
        return Check(name="solvable", ok=not wrong, detail="; ".join(wrong))

    def _customer(self, _: str) -> str:
        """What the customer says when asked: who they are, and what the brief wants."""
        user = self._brief.user
        name, address = user["name"], user["address"]
        wishes = "; ".join(wish.about for wish in self._brief.wishes)
        return (
            f"I am {name['first_name']} {name['last_name']}, e-mail {user['email']}, zip code {address['zip']}. "
            f"I want: {wishes}."
        )

    async def _run(self, stage: str, request: str, reply: Callable[[str], str] | None, *knowledge: Knowledge) -> Trace:
        """One session from its beginning to where nothing goes on by itself."""
        settings = SessionSettings(
            world="own", approval="never", recall=False, max_turns=self._options.max_turns, task=stage == "draft"
        )
        name = f"{self._name}-{stage}"
        session = await self._parley.start(
            request, workflow="agentflow", settings=settings, knowledge=knowledge, id=name
        )
        try:
            async with asyncio.timeout(self._options.patience):
                found = await self._to_the_end(session, reply)
        except TimeoutError:
            found = await _traced(session)
        self._traces.append(found)
        if not found.answered and found.session.phase not in ("resting", "failed"):
            await session.stop(_REASON)  # nobody will come and answer
        return found

    async def _to_the_end(self, session: Session, reply: Callable[[str], str] | None) -> Trace:
        while True:
            shown = await session.wait()
            found = await _traced(session)
            count = sum(isinstance(event, facts.QuestionAsked) for event in found.events)
            if reply is None or shown.phase != "awaiting_input" or shown.question is None or count > QUESTIONS:
                return found
            content = reply(shown.question.content)
            await session.send(
                type="answer", id=f"{session.id}-{count}", content=content, question_id=shown.question.question_id
            )

    def _spent(self) -> dict[str, Any]:
        return {
            "seconds": round(sum(one.seconds for one in self._traces), 3),
            "model_calls": sum(one.model_calls for one in self._traces),
            "tokens": sum(one.tokens for one in self._traces),
            "session_ids": [one.session.id for one in self._traces],
        }


def _about(call: TaskCall) -> tuple[str, JsonValue]:
    """What is done to which order or customer, whatever the details."""
    return call.name, call.arguments.get("order_id", call.arguments.get("user_id"))


async def _traced(session: Session) -> Trace:
    return trace(session.id, await session.journal())


def _must_be_answered(stage: str, found: Trace) -> None:
    if not found.answered:
        raise Rejected(f"{stage} {found.ended.split(':')[0]}", f"the {stage} {found.ended}")


def _differences(draft: Task, task: Task) -> list[dict[str, JsonValue]]:
    """What the loop did otherwise than the draft had it."""
    found: list[dict[str, JsonValue]] = []
    wanted = [call.model_dump(mode="json") for call in draft.agt]
    done = [call.model_dump(mode="json") for call in task.agt]
    for call in [call for call in wanted if call not in done]:
        why = "drafted, and not done by the loop"
        found.append({"field": "agt", "before": call, "after": None, "why": why})
    for call in [call for call in done if call not in wanted]:
        found.append({"field": "agt", "before": None, "after": call, "why": "done by the loop, and not drafted"})
    for output in [output for output in draft.ogt if output not in task.ogt]:
        found.append({"field": "ogt", "before": output, "after": None, "why": "drafted, and not in the loop's answer"})
    return found
