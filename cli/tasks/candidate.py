"""The stages of one candidate for a test task: drafted, executed by the loop, validated, and executed once more.

Each stage is a session with its own copy of the store. Session ids follow from the candidate's name, so a candidate
that is resumed after a crash finds its sessions and continues them.
"""

import asyncio
import json
from contextlib import suppress
from typing import Any, NamedTuple, NotRequired, TypedDict

from pydantic import JsonValue

from cli.tasks.run_trace import RunTrace, price
from packs.retail.policy import RULES
from packs.retail.tasks.correct import Corrected, correct
from packs.retail.tasks.outputs import is_answered
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.scenarios import Scenario
from packs.retail.tasks.task import WRITES, ExpectedCall, RetailTask
from packs.retail.tasks.validate import TaskReport, validate
from parley.client.client import Parley, RemoteSession
from parley.events import facts
from parley.events.values import Knowledge, SessionSettings
from shared.repair.values import UNREADABLE, parse_text

REQUEST = "Make a test task of the brief: this customer, who wants what its scenario says."
MAX_QUESTIONS = 3  # questions answered for the customer in one session
SESSION_TIMEOUT = 600  # seconds after which an unfinished session is given up


class TaskResult(TypedDict):
    """The result of a candidate. On success the task and reports, else `error`, and the reason in `rejected`."""

    success: bool
    spent: dict[str, Any]
    task: NotRequired[dict[str, Any]]
    agentflow_metadata: NotRequired[dict[str, Any]]
    validation_report: NotRequired[dict[str, Any]]
    corrections_applied: NotRequired[dict[str, Any]]
    error: NotRequired[str]
    rejected: NotRequired[str]


class CandidateOptions(NamedTuple):
    agentflow: bool = True
    include_metadata: bool = True
    max_turns: int = 5


class CandidateRejected(Exception):
    """The candidate cannot be used; `why` is the reason in a few words."""

    def __init__(self, why: str, detail: str) -> None:
        super().__init__(detail)
        self.why = why


class TaskCandidate:
    """Makes a task of one brief. `name` is unique: at most 56 letters, digits, _ and -."""

    def __init__(self, parley: Parley, shop: Shop, scenario: Scenario, name: str, options: CandidateOptions) -> None:
        self._parley, self._shop, self._brief, self._name, self._options = parley, shop, scenario, name, options
        self._traces: list[RunTrace] = []

    async def result(self) -> TaskResult:
        """Run all stages. Model errors are reported in the result. Raises ParleyError if Parley is unreachable."""
        try:
            result = await self._accepted()
        except CandidateRejected as error:
            result = {"success": False, "error": str(error), "rejected": error.why, "spent": {}}
        result["spent"] = price(self._traces) | {"session_ids": [trace.session_id for trace in self._traces]}
        return result

    async def _accepted(self) -> TaskResult:
        """The result for a valid task. Raises CandidateRejected."""
        drafted = await self._draft()
        task = draft = drafted.task
        if task is None or draft is None:
            raise CandidateRejected("draft unusable", "; ".join(drafted.problems))
        loop: RunTrace | None = None
        if self._options.agentflow:
            loop = await self._answered("loop", draft.q, self.introduction)
            outputs = tuple(output for output in draft.ogt if is_answered(output, loop.session.answer.text))
            task = RetailTask(q=draft.q, agt=loop.writes, ogt=outputs)
            self._require_complete(draft, task, loop)
        report = self._validated(task)
        if loop:
            second_run = await self._run("again", task.q, f"I have told you all I know. {task.q}")
            problems = self._unsolved(task, second_run)
            if problems:
                raise CandidateRejected("not solvable", "; ".join(problems))
            report = report.with_check("solvable", problems)
        result: TaskResult = {
            "success": True,
            "task": task.model_dump(mode="json"),
            "validation_report": report.as_json(),
            "corrections_applied": {"corrections": drafted.as_json(), "differences": _differences(draft, task)},
            "spent": {},
        }
        if loop and self._options.include_metadata:
            ids = [trace.session_id for trace in self._traces]
            result["agentflow_metadata"] = loop.metadata() | {"session_ids": ids}
        return result

    async def _draft(self) -> Corrected:
        brief = Knowledge(name="brief", text=json.dumps(self._brief.as_json(), ensure_ascii=False))
        rules = Knowledge(name="rules", text="\n".join(RULES))
        text = (await self._answered("draft", REQUEST, "", brief, rules)).session.answer.text
        draft = parse_text(text, dict)
        if draft is UNREADABLE:
            raise CandidateRejected("draft unusable", f"the draft is no JSON object: {text[:200]}")
        if isinstance(draft, dict):
            draft.pop("reasoning", None)  # not part of the task
        return correct(draft, self._shop)

    def _validated(self, task: RetailTask) -> TaskReport:
        """The report of a valid task. Raises CandidateRejected."""
        if not task.agt and not task.ogt:
            raise CandidateRejected("nothing to do", "neither is anything changed nor is anything to be answered")
        report = validate(task, self._shop)
        if not report.valid:
            detail = "; ".join(f"{check.name}: {check.detail}" for check in report.wrong)
            raise CandidateRejected(f"invalid: {', '.join(check.name for check in report.wrong)}", detail)
        return report

    def _require_complete(self, draft: RetailTask, task: RetailTask, loop: RunTrace) -> None:
        """Raises CandidateRejected if the loop left out a feasible part: the expected end state would be unknown."""
        answer = loop.session.answer.text[:500]
        if not loop.is_complete or loop.session.counts.turns > self._options.max_turns:  # answers count them anew
            raise CandidateRejected("loop ran out of turns", f"the loop used up its turns: {answer}")
        if not validate(draft, self._shop).valid:
            return
        touched = {_subject(call) for call in task.agt}
        missing = [call.name for call in draft.agt if call.name in WRITES and _subject(call) not in touched]
        missing += [f"to tell {output!r}" for output in draft.ogt if output not in task.ogt]
        if missing:
            raise CandidateRejected("loop left it undone", f"{', '.join(missing)}; it said: {answer}")

    def _unsolved(self, task: RetailTask, second_run: RunTrace) -> list[str]:
        """How the data and answers of the independent run, which had only the instruction, differ from the task's."""
        if not second_run.is_answered:
            return [f"the independent run {second_run.end_description}"]
        calls, answer = second_run.writes, second_run.session.answer.text
        problems = [f"it did not tell {output!r}" for output in task.ogt if not is_answered(output, answer)]
        if self._shop.after(calls) != self._shop.after(task.agt):
            call_names = ", ".join(call.name for call in calls) or "nothing"
            problems.insert(0, f"the independent run left other data: it did {call_names}")
        return problems

    @property
    def introduction(self) -> str:
        """The customer's answer to any question: who they are, and what they want."""
        user = self._brief.user
        name, address = user["name"], user["address"]
        intents = "; ".join(wish.about for wish in self._brief.intents)
        return (
            f"I am {name['first_name']} {name['last_name']}, e-mail {user['email']}, zip code {address['zip']}. "
            f"I want: {intents}."
        )

    async def _answered(self, stage: str, request: str, reply: str, *knowledge: Knowledge) -> RunTrace:
        """The run of one session that ends with an answer. Raises CandidateRejected."""
        trace = await self._run(stage, request, reply, *knowledge)
        if not trace.is_answered:
            end = trace.end_description
            raise CandidateRejected(f"{stage} {end.split(':')[0]}", f"the {stage} {end}")
        return trace

    async def _run(self, stage: str, request: str, reply: str, *knowledge: Knowledge) -> RunTrace:
        """Run one session until it comes to rest, or time runs out. `reply` answers its questions; "" leaves them."""
        settings = SessionSettings(
            world="own", approval="never", recall=False, max_turns=self._options.max_turns, task=stage == "draft"
        )
        name = f"{self._name}-{stage}"
        session = await self._parley.start(
            request, workflow="agentflow", settings=settings, knowledge=knowledge, id=name
        )
        with suppress(TimeoutError):
            async with asyncio.timeout(SESSION_TIMEOUT):
                await _wait_for_rest(session, reply)
        trace = RunTrace(session.id, await session.journal())
        self._traces.append(trace)
        if not trace.is_answered and trace.session.phase not in ("resting", "failed"):
            await session.stop("Ended by the task generator.")  # no user will answer
        return trace


async def _wait_for_rest(session: RemoteSession, reply: str) -> None:
    """Wait until the session comes to rest, or asks what is not answered."""
    while (screen := await session.wait()).phase == "awaiting_input" and (question := screen.question) and reply:
        number = sum(isinstance(event, facts.QuestionAsked) for event in await session.journal())
        if number > MAX_QUESTIONS and question.about != "turns":
            return
        content = question.options[-1] if question.about == "turns" else reply  # which ends the run with an answer
        answer = {"id": f"{session.id}-{number}", "content": content, "question_id": question.question_id}
        await session.send(type="answer", **answer)


def _subject(call: ExpectedCall) -> tuple[str, JsonValue]:
    """The tool and the order or customer that a call concerns, without details."""
    return call.name, call.arguments.get("order_id", call.arguments.get("user_id"))


def _differences(draft: RetailTask, task: RetailTask) -> list[dict[str, JsonValue]]:
    """Where the loop deviated from the draft."""
    drafted, done = [[call.model_dump(mode="json") for call in calls] for calls in (draft.agt, task.agt)]
    changes: list[tuple[str, JsonValue, JsonValue, str]] = [
        *(("agt", call, None, "drafted, and not done by the loop") for call in drafted if call not in done),
        *(("agt", None, call, "done by the loop, and not drafted") for call in done if call not in drafted),
        *(("ogt", text, None, "drafted, and not in the loop's answer") for text in draft.ogt if text not in task.ogt),
    ]
    return [{"field": part, "before": before, "after": after, "why": why} for part, before, after, why in changes]
