"""Plan generators of installed packages, as the settings list them: they draft execution plans instead of a model."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import structlog
from pydantic import ValidationError

from parley.events.values import Step
from parley.plan_generator import Draft, DraftContext, PlanGenerator
from parley.protocol.tools import ToolPage, ToolSpec
from parley.reply import Reply
from services.planner.agentflow import Tools
from services.planner.examples import Examples
from services.planner.execution_plan import TRIES, draft_steps
from shared.domain import commands as c
from shared.domain.errors import Refused
from shared.domain.plan_steps import MOST_STEPS, rewritten
from shared.domain.said import drafting
from shared.domain.session import Session
from shared.llm import ModelError
from shared.llm.sections import prompt
from shared.log import LogDown, UpgradeNeeded
from shared.plan_checks.steps import checked, with_ids
from shared.plugins import named
from shared.settings import MODEL
from shared.worker import BudgetExceeded, WorkContext

log = structlog.get_logger("planner")
GROUP = "parley.plan_generators"  # of entry points: a module, a subclass of PlanGenerator, or an instance
PASSED = (ModelError, BudgetExceeded, Refused, LogDown, UpgradeNeeded)  # the worker knows what to do about them


class Unusable(Exception):
    """There can be no plan from this generator now; the text tells the person why."""


class PlanGenerators:
    """Those with these names; the first one drafts where a session names none. `model` is Parley's own.

    `all_tools` asks for the tools that the others may use: those with these names, or all where there are none.
    """

    def __init__(self, names: Sequence[str], all_tools: Callable[[tuple[str, ...]], Awaitable[ToolPage]]) -> None:
        self._all_tools = all_tools
        self._generators = {name: _loaded(name) for name in dict.fromkeys(names)}

    async def draft(
        self, context: WorkContext, tools: Tools, examples: Examples
    ) -> c.DraftPlan | c.Ask | c.AnswerRemark | c.Fail:
        name = context.session.settings.generator or next(iter(self._generators))
        generator = self._generators.get(name)
        if generator is None and name in self._generators:
            return await draft_steps(context, tools, examples)
        if not isinstance(generator, PlanGenerator):
            known = ", ".join(self._generators)
            return c.Fail(reason=generator or f"There is no plan generator “{name[:64]}” here, only: {known}.")
        try:
            return await _draft(generator, context, await self._all_tools(context.session.settings.tools))
        except Unusable as error:
            return c.Fail(reason=f"The plan generator {name} made no plan that can be carried out. {error}"[:5_000])


async def _draft(generator: PlanGenerator, context: WorkContext, page: ToolPage) -> c.DraftPlan:
    """The first draft without problems. Raises Unusable."""
    session = drafting(context.session)
    known = {spec.name: spec for spec in page.tools}
    last: c.DraftPlan | None = None
    problems: tuple[str, ...] = ()
    for _ in range(TRIES):
        draft_context = _context(context, session, page, problems)
        made = await _asked(generator, session.words.request, page.tools, draft_context)
        draft, wrong = _command(made, session, known)
        problems = (*wrong, *rewritten(session, draft.steps))
        if not problems:
            return draft
        if draft == last:
            break
        last = draft
    raise Unusable(" ".join(problems))


async def _asked(generator: PlanGenerator, request: str, tools: Sequence[ToolSpec], context: DraftContext) -> Draft:
    deadline = asyncio.timeout(generator.seconds)
    try:
        async with deadline:
            made: object = await generator.generate(request, tools, context)
    except PASSED:
        raise
    except (Exception, SystemExit) as error:  # a stranger's code
        if deadline.expired():
            raise Unusable(f"It did not answer within {generator.seconds:g} seconds.") from error
        log.exception("plan_generator_failed", generator=type(generator).__name__)
        raise Unusable(f"{type(error).__name__}: {error}") from error
    if not isinstance(made, Draft):
        raise Unusable(f"It returned {type(made).__name__}, which is no Draft.")
    return made


def _context(context: WorkContext, session: Session, page: ToolPage, problems: tuple[str, ...]) -> DraftContext:
    plan = session.plan if session.plan and session.plan.task and session.plan.task == session.task else None
    return DraftContext(
        session_id=session.id,
        user=session.owner,
        ask_model=partial(_ask_model, context),
        plan=Draft(plan.goal, plan.steps, plan.notes) if plan else None,
        feedback=session.words.feedback,
        another=session.next_draft.another,
        problems=problems,
        rules=page.rules,
        knowledge=session.words.knowledge,
        instructions=session.settings.instructions,
    )


def _command(draft: Draft, session: Session, known: Mapping[str, ToolSpec]) -> tuple[c.DraftPlan, tuple[str, ...]]:
    """The draft as it is recorded, and what is wrong with its steps. Raises Unusable."""
    try:
        steps = tuple(Step.model_validate(step) for step in draft.steps)
        before = session.plan.steps if session.plan else ()
        if not 0 < len(steps) <= MOST_STEPS:
            raise Unusable(f"It has {len(steps)} steps; 1 to {MOST_STEPS} are allowed.")
        found = checked(with_ids([_step(step) for step in steps], before), known, allowed=session.settings.tools)
        fields = {"goal": draft.goal[:50_000], "notes": draft.notes[:10_000], "checks": found.checks}
        return c.DraftPlan(kind="execution", steps=found.steps, **fields), found.problems
    except (ValidationError, TypeError) as error:
        raise Unusable(f"Its draft is none: {_said(error)}") from error


def _step(step: Step) -> Step:
    """What a generator may say of a step."""
    fields = {name: getattr(step, name) for name in ("text", "tool", "id", "after", "for_each")}
    return Step(arguments=step.arguments or {}, **fields)


async def _ask_model[R: Reply](
    context: WorkContext, task: str, rules: str, sections: Mapping[str, str | Iterable[str] | None], reply: type[R]
) -> R:
    return await context.ask(prompt("planner", task, rules, sections), reply, kind="plan", render=_shown)


def _shown(partial_reply: Mapping[str, Any]) -> str:
    """What the model has written so far."""
    return "\n\n".join(value for name, value in partial_reply.items() if name != "kind" and isinstance(value, str))


def _said(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _loaded(name: str) -> PlanGenerator | str | None:
    """The generator, or why it cannot be used; None: the model."""
    if name == MODEL:
        return None
    try:
        return named(GROUP, name, PlanGenerator)  # type: ignore[type-abstract]  # of which it is none
    except (Exception, SystemExit) as error:
        why = (
            f"The plan generator {name} cannot be used: {type(error).__name__}: {error}. Put it right, "
            "or take it out of PARLEY_PLAN_GENERATORS, and start the planner again."
        )
        log.error("plan_generator_not_loaded", why=why)
        return why[:2_000]
