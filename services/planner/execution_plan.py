"""The workflow `execution_plan`: draft a plan of tool calls.

The planner returns a plan that cannot be carried out to the model, with the reasons.
"""

import re
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from parley.events.values import STEP_ID, Step
from parley.protocol.tools import ToolSpec
from parley.reply import without_kinds
from services.planner.agentflow_prompt import MoreTools
from services.planner.execution_plan_prompt import (
    StepChanges,
    StepDraft,
    StepsDraft,
    StepsReply,
    build_prompt,
    render_partial,
)
from services.planner.plan_changes import refusal, whole_plan
from services.planner.recall import Examples, no_examples
from services.planner.tools import ToolLookup, choose
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Plan
from shared.domain.steps.plan_steps import changed_begun_steps, changes_made, known_steps
from shared.domain.transcript.messages import drafting_session
from shared.domain.transcript.queries import said_since_request
from shared.llm.dialogue import refuse_repeated, refused_proposal, reply_for, to_command
from shared.plan_checks.calls import polled_call, repair_arguments
from shared.plan_checks.steps import CheckedPlan, check_plan, with_ids
from shared.worker import WorkContext

MAX_PROPOSALS = 3  # per plan; after that the work fails and can be retried
NO_TOOLS = "There are no tools to plan with."
MAX_SEARCHES = 2  # further model calls of a plan that ask for other tools


async def draft_steps(
    context: WorkContext, tools: ToolLookup, examples: Examples = no_examples
) -> c.DraftPlan | c.NoDraft | c.Fail:
    session = drafting_session(context.session)
    allowed = session.settings.tools
    used = _used_tools(session)
    choice = await choose(tools, session.words.request, " ".join(said_since_request(session)[-3:]), used, allowed)
    page = choice.page
    if not page.tools:
        reason = f"None of the tools that the plan may use is there: {', '.join(allowed)}." if allowed else NO_TOOLS
        return c.Fail(reason=" ".join((reason, *page.troubles))[:5_000], retryable=True)
    problems: Sequence[str] = ()
    told: tuple[str, ...] = ()
    searches = 0
    plan = plan_of_task(session)
    before = [StepDraft.model_validate(step, from_attributes=True) for step in plan.steps] if plan else []
    repeated = refuse_repeated(context.session)
    similar = await examples(session)
    for _ in range(MAX_PROPOSALS + MAX_SEARCHES):
        withheld = ["more_tools"] if not page.others or searches >= MAX_SEARCHES else []
        withheld += [] if plan else ["changes"]
        reply = await context.ask(
            build_prompt(
                context.prompt_session,
                context.deps.settings,
                choice,
                (*problems, *told),
                similar,
            ),
            reply_for(without_kinds(StepsReply, *withheld), context.session),
            kind="plan",
            render=render_partial,
            refuse=lambda reply: repeated(reply) or refusal(reply.reply, plan, before, StepsDraft),
        )
        draft = reply.reply
        if isinstance(draft, StepChanges):
            draft = whole_plan(draft, plan, before, StepsDraft)
        match draft:
            case MoreTools(words=words):
                choice = await choice.with_matching(tools, words, used, allowed)
                searches += 1
                told = (f"<found_tools> has what fits “{words[:200]}”. If none of it is right, say so.",)
            case StepsDraft():
                choice = await choice.with_named(tools, (step.tool for step in draft.steps), allowed)
                known = {spec.name: spec for spec in choice.all_tools.tools}
                told = refused_proposal(reply)
                steps = [_step(step, known.get(step.tool)) for step in draft.steps]
                checked_plan = check_steps(session, steps, known)
                problems = (*_invalid_ids(draft.steps), *checked_plan.problems)
                if not problems:
                    goal, notes = draft.goal[:50_000], draft.notes.strip()[:10_000]
                    fields = {
                        "say": draft.say.strip(),
                        "goal": goal,
                        "notes": notes,
                        "steps": checked_plan.steps,
                        "checks": checked_plan.checks,
                    }
                    return c.DraftPlan(kind="execution", tells_subjects=page.tells_subjects, **fields)
            case other:
                return to_command(other)
    return c.Fail(reason=f"No plan could be made that can be carried out. {' '.join(problems)}"[:5_000])


def plan_of_task(session: Session) -> Plan | None:
    """The plan that a draft replaces; None if the current one was for other work."""
    plan = session.plan
    return plan if plan and plan.task and plan.task == session.task else None


def check_steps(session: Session, steps: Sequence[Step], known: Mapping[str, ToolSpec]) -> CheckedPlan:
    """The steps with ids, checked against these tools and against the steps that have begun."""
    complete = with_ids(steps, known_steps(session))
    checked = check_plan(complete, known, allowed=session.settings.tools, earlier_changes=changes_made(session))
    return checked._replace(problems=(*checked.problems, *changed_begun_steps(session, checked.steps)))


def _invalid_ids(drafts: Sequence[StepDraft]) -> tuple[str, ...]:
    """Entries of `after` that cannot be step ids. Reporting them keeps an intended order from getting lost."""
    wrong = [(number, need) for number, draft in enumerate(drafts, 1) for need in draft.after if not _is_id(need)]
    return tuple(f"Step {number} comes after “{need[:80]}”, which is no id of a step." for number, need in wrong)


def _is_id(text: str) -> bool:
    return re.fullmatch(STEP_ID, text) is not None


def _step(draft: StepDraft, spec: ToolSpec | None) -> Step:
    """The step with repaired literal arguments."""
    arguments: JsonValue = draft.arguments if draft.arguments is not None else {}
    return Step(
        text=draft.text.strip()[:2_000] or draft.tool,
        tool=draft.tool,
        arguments=repair_arguments(arguments, spec).arguments if spec else {},
        id=draft.id if _is_id(draft.id) else None,
        after=tuple(dict.fromkeys(need for need in draft.after if _is_id(need))),
        for_each=(draft.for_each or "").strip()[:500] or None,
    )


def _used_tools(session: Session) -> tuple[str, ...]:
    steps = session.plan.steps if session.plan else ()
    calls = (call for step in steps for call in (step, polled_call(step)) if call)
    return tuple(dict.fromkeys(call.tool for call in calls if call.tool))
