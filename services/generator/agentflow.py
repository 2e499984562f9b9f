"""The workflow `agentflow`: write the answer to a request, or a test task."""

from collections.abc import Awaitable, Callable

import structlog
from pydantic import ValidationError

from parley.events.facts import MAX_NEXT
from parley.protocol.tools import TOOLS_LIST, ListTools, ToolPage
from parley.reply import MAX_OPTION
from services.generator.agentflow_prompt import (
    AnswerReply,
    TaskReply,
    build_answer_prompt,
    build_task_prompt,
    render_partial_answer,
    render_partial_task,
)
from shared.bus import Bus, BusUnavailable, MessageTooLarge
from shared.domain import commands as c
from shared.domain.memory import action_history
from shared.worker import WorkContext

RULES_TIMEOUT = 2.0  # seconds; an answer without the rules is better than none
type RulesOf = Callable[[tuple[str, ...]], Awaitable[tuple[str, ...]]]
log = structlog.get_logger("generator")


async def rules_of(bus: Bus, tools: tuple[str, ...]) -> tuple[str, ...]:
    """The rules of the packs that have these tools; none if the executor does not answer in time."""
    ask = ListTools(names=tools, limit=len(tools), matching=True)
    try:
        body = await bus.request(TOOLS_LIST, ask.model_dump_json().encode(), timeout=RULES_TIMEOUT)
        return ToolPage.model_validate_json(body, extra="allow").rules
    except (BusUnavailable, MessageTooLarge, ValidationError) as error:
        log.warning("answer_without_rules", reason=type(error).__name__)
        return ()


async def write(context: WorkContext, rules_of: RulesOf) -> c.GiveAnswer:
    if context.session.settings.task:
        return await write_task(context)
    return await write_answer(context, rules_of)


async def write_answer(context: WorkContext, rules_of: RulesOf) -> c.GiveAnswer:
    """The answer. Its evidence keeps only ids of actions that finished or failed."""
    session = context.session
    tools = tuple(dict.fromkeys(action.tool for action in action_history(session.memory, session.turn)))
    rules = await rules_of(tools) if tools else ()
    messages = build_answer_prompt(context.prompt_session, context.deps.settings, rules)
    reply = (await context.ask(messages, AnswerReply, kind="answer", render=render_partial_answer)).reply
    ended_ids = {
        action.id for action in action_history(session.memory, session.turn) if action.status in ("finished", "failed")
    }
    evidence = tuple(action_id for action_id in dict.fromkeys(reply.evidence) if action_id in ended_ids)
    wishes = dict.fromkeys(filter(None, (" ".join(wish.split())[:MAX_OPTION] for wish in reply.next)))
    text = reply.text[:50_000]
    return c.GiveAnswer(text=text, confidence=reply.confidence, evidence=evidence, next=tuple(wishes)[:MAX_NEXT])


async def write_task(context: WorkContext) -> c.GiveAnswer:
    """The test task as JSON: {"q", "agt", "ogt"}."""
    reply = (
        await context.ask(build_task_prompt(context.session), TaskReply, kind="answer", render=render_partial_task)
    ).reply
    task = reply.model_dump_json(include={"q", "agt", "ogt"})
    return c.GiveAnswer(text=task[:50_000], confidence=reply.confidence)
