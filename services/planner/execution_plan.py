"""Plan and act: draft the plan of tool calls; what cannot be carried out goes back with the reasons."""

import re
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from parley.events.values import STEP_ID, Step
from parley.protocol.tools import ToolSpec
from services.planner.agentflow import Tools
from services.planner.agentflow_prompt import MoreTools
from services.planner.examples import Examples, no_examples
from services.planner.execution_plan_prompt import StepDraft, StepsDraft, StepsReply, brief, shown
from shared.domain import commands as c
from shared.domain.plan_steps import rewritten
from shared.domain.said import drafting
from shared.domain.session import Session
from shared.llm.dialogue import refuse_repeated, reply_for, to_command
from shared.plan_checks.calls import polled_call, repaired
from shared.plan_checks.steps import checked, with_ids
from shared.worker import WorkContext

TRIES = 3  # proposals of one plan; after that the work has failed, and can be tried again
NO_TOOLS = "There are no tools to plan with."
SEARCHES = 2  # besides these, wishes for other tools


async def draft_steps(
    context: WorkContext, tools: Tools, examples: Examples = no_examples
) -> c.DraftPlan | c.Ask | c.AnswerRemark | c.Fail:
    session = drafting(context.session)
    allowed = session.settings.tools
    page = await tools.fitting(_words(session), _used(session), allowed)
    if not page.tools:
        none = f"None of the tools that the plan may use is there: {', '.join(allowed)}." if allowed else NO_TOOLS
        return c.Fail(reason=" ".join((none, *page.troubles))[:5_000], retryable=True)
    problems: Sequence[str] = ()
    alike = await examples(session)
    for _ in range(TRIES + SEARCHES):
        reply = await context.ask(
            brief(context.session, page, problems, alike),
            reply_for(StepsReply, context.session),
            kind="plan",
            render=shown,
            refuse=refuse_repeated(context.session),
        )
        match reply.reply:
            case MoreTools(words=words):
                page = await tools.fitting(words, _used(session), allowed)
                problems = (f"These are the tools that fit “{words[:200]}”. Is none of them right, say so.",)
            case StepsDraft() as draft:
                known = {spec.name: spec for spec in page.tools}
                found = checked(_steps(draft.steps, session, known), known, allowed=allowed)
                problems = (*_no_ids(draft.steps), *found.problems, *rewritten(session, found.steps))
                if not problems:
                    goal, notes = draft.goal[:50_000], draft.notes.strip()[:10_000]
                    fields = {"goal": goal, "notes": notes, "steps": found.steps, "checks": found.checks}
                    return c.DraftPlan(kind="execution", **fields)
            case other:
                return to_command(other, context.session)
    return c.Fail(reason=f"No plan could be made that can be carried out. {' '.join(problems)}"[:5_000])


def _steps(drafts: Sequence[StepDraft], session: Session, known: Mapping[str, ToolSpec]) -> tuple[Step, ...]:
    """The steps with ids, and their literal arguments put right."""
    before = session.plan.steps if session.plan else ()
    return with_ids([_step(draft, known.get(draft.tool)) for draft in drafts], before)


def _no_ids(drafts: Sequence[StepDraft]) -> tuple[str, ...]:
    """What stands in `after` and can be no step's id: an order that was wanted must not get lost."""
    wrong = [(number, need) for number, draft in enumerate(drafts, 1) for need in draft.after if not _is_id(need)]
    return tuple(f"Step {number} comes after “{need[:80]}”, which is no id of a step." for number, need in wrong)


def _is_id(text: str) -> bool:
    return re.fullmatch(STEP_ID, text) is not None


def _step(draft: StepDraft, spec: ToolSpec | None) -> Step:
    given: JsonValue = draft.arguments if draft.arguments is not None else {}
    return Step(
        text=draft.text.strip()[:2_000] or draft.tool,
        tool=draft.tool,
        arguments=repaired(given, spec) if spec else {},
        id=draft.id if _is_id(draft.id) else None,
        after=tuple(dict.fromkeys(need for need in draft.after if _is_id(need))),
        for_each=(draft.for_each or "").strip()[:500] or None,
    )


def _words(session: Session) -> str:
    return " ".join((session.words.request, *session.words.feedback[-3:]))


def _used(session: Session) -> tuple[str, ...]:
    steps = session.plan.steps if session.plan else ()
    calls = (call for step in steps for call in (step, polled_call(step)) if call)
    return tuple(dict.fromkeys(call.tool for call in calls if call.tool))
