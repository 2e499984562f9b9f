"""Plan generators of installed packages: they draft execution plans in place of the model. The settings list them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import structlog
from pydantic import ValidationError

from parley.events.problems import problem_sentences
from parley.events.values import Step
from parley.plan_generator import Draft, DraftContext, PlanGenerator
from parley.protocol.tools import ToolPage, ToolSpec
from parley.reply import Reply
from services.planner.execution_plan import MAX_PROPOSALS, check_steps, draft_steps, plan_of_task
from services.planner.recall import Examples
from services.planner.tools import ToolLookup
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import CommandRefused
from shared.domain.kernel.session import Session
from shared.domain.plan.validation import MAX_STEPS
from shared.domain.transcript.messages import drafting_session
from shared.llm import ModelError
from shared.llm.sections import prompt
from shared.log import LogUnavailable, UpgradeNeeded
from shared.plugins import load_named
from shared.settings import MODEL
from shared.worker import BudgetExceeded, WorkContext

log = structlog.get_logger("planner")
GROUP = "parley.plan_generators"  # of entry points: a module, a subclass of PlanGenerator, or an instance
PROPAGATED = (
    ModelError,
    BudgetExceeded,
    CommandRefused,
    LogUnavailable,
    UpgradeNeeded,
)  # the worker handles these


class GeneratorFailed(Exception):
    """The generator made no usable plan; the text tells the user why."""


class PlanGenerators:
    """The generators with these names. The first is the default; `model` is Parley's own.

    `all_tools` requests the tools that a generator may use: those with the given names, or all if none are given.
    """

    def __init__(self, names: Sequence[str], all_tools: Callable[[tuple[str, ...]], Awaitable[ToolPage]]) -> None:
        self._all_tools = all_tools
        self._generators = {name: _load(name) for name in dict.fromkeys(names)}

    async def draft(
        self, context: WorkContext, tools: ToolLookup, examples: Examples
    ) -> c.DraftPlan | c.NoDraft | c.Fail:
        name = context.session.settings.generator or next(iter(self._generators))
        generator = self._generators.get(name)
        if generator is None and name in self._generators:
            return await draft_steps(context, tools, examples)
        if not isinstance(generator, PlanGenerator):
            known = ", ".join(self._generators)
            return c.Fail(reason=generator or f"There is no plan generator “{name[:64]}” here, only: {known}.")
        try:
            return await _draft(generator, context, await self._all_tools(context.session.settings.tools))
        except GeneratorFailed as error:
            return c.Fail(reason=f"The plan generator {name} made no plan that can be carried out. {error}"[:5_000])


async def _draft(generator: PlanGenerator, context: WorkContext, page: ToolPage) -> c.DraftPlan:
    """The first draft without problems. Raises GeneratorFailed."""
    session = drafting_session(context.session)
    known = {spec.name: spec for spec in page.tools}
    last: c.DraftPlan | None = None
    problems: tuple[str, ...] = ()
    for _ in range(MAX_PROPOSALS):
        draft_context = _draft_context(context, session, page, problems)
        generated = await _generate(generator, session.words.request, page.tools, draft_context)
        draft, problems = _to_command(generated, session, known)
        if not problems:
            return draft.model_copy(update={"tells_subjects": page.tells_subjects})
        if draft == last:
            break
        last = draft
    raise GeneratorFailed(" ".join(problems))


async def _generate(generator: PlanGenerator, request: str, tools: Sequence[ToolSpec], context: DraftContext) -> Draft:
    deadline = asyncio.timeout(generator.seconds)
    try:
        async with deadline:
            draft: object = await generator.generate(request, tools, context)
    except PROPAGATED:
        raise
    except (Exception, SystemExit) as error:  # third-party code
        if deadline.expired():
            raise GeneratorFailed(f"It did not answer within {generator.seconds:g} seconds.") from error
        log.exception("plan_generator_failed", generator=type(generator).__name__)
        raise GeneratorFailed(f"{type(error).__name__}: {error}") from error
    if not isinstance(draft, Draft):
        raise GeneratorFailed(f"It returned {type(draft).__name__}, which is no Draft.")
    return draft


def _draft_context(context: WorkContext, session: Session, page: ToolPage, problems: tuple[str, ...]) -> DraftContext:
    plan = plan_of_task(session)
    return DraftContext(
        session_id=session.id,
        user=session.owner,
        ask_model=partial(_ask_model, context),
        plan=Draft(plan.goal, plan.steps, plan.notes) if plan else None,
        feedback=tuple(message.text for message in session.words.unread),
        another=session.next_draft.another,
        problems=problems,
        rules=page.rules,
        knowledge=session.words.knowledge,
        instructions=session.settings.instructions,
    )


def _to_command(draft: Draft, session: Session, known: Mapping[str, ToolSpec]) -> tuple[c.DraftPlan, tuple[str, ...]]:
    """The draft as a command, and the problems of its steps. Raises GeneratorFailed."""
    try:
        steps = tuple(Step.model_validate(step) for step in draft.steps)
        if not 0 < len(steps) <= MAX_STEPS:
            raise GeneratorFailed(f"It has {len(steps)} steps; 1 to {MAX_STEPS} are allowed.")
        checked_plan = check_steps(session, [_allowed_fields(step) for step in steps], known)
        fields = {"goal": draft.goal[:50_000], "notes": draft.notes[:10_000], "checks": checked_plan.checks}
        return c.DraftPlan(kind="execution", steps=checked_plan.steps, **fields), checked_plan.problems
    except (ValidationError, TypeError) as error:
        problems = problem_sentences(error.errors(), whole="step") if isinstance(error, ValidationError) else error
        raise GeneratorFailed(f"Its draft is none: {problems}") from error


def _allowed_fields(step: Step) -> Step:
    """The step, reduced to the fields that a generator may set."""
    fields = {name: getattr(step, name) for name in ("text", "tool", "id", "after", "for_each")}
    return Step(arguments=step.arguments or {}, **fields)


async def _ask_model[R: Reply](
    context: WorkContext, task: str, rules: str, sections: Mapping[str, str | Iterable[str] | None], reply: type[R]
) -> R:
    messages = prompt("planner", task, rules, sections, zone=context.session.time_zone)
    return await context.ask(messages, reply, kind="plan", render=_render_partial)


def _render_partial(partial_reply: Mapping[str, Any]) -> str:
    """The text that the model has written so far."""
    return "\n\n".join(value for name, value in partial_reply.items() if name != "kind" and isinstance(value, str))


def _load(name: str) -> PlanGenerator | str | None:
    """The generator, or the reason why it cannot be loaded; None stands for Parley's model."""
    if name == MODEL:
        return None
    try:
        return load_named(GROUP, name, PlanGenerator)  # type: ignore[type-abstract]  # of which it is none
    except (Exception, SystemExit) as error:
        why = (
            f"The plan generator {name} cannot be used: {type(error).__name__}: {error}. Put it right, "
            "or take it out of PARLEY_PLAN_GENERATORS, and start the planner again."
        )
        log.error("plan_generator_not_loaded", why=why)
        return why[:2_000]
