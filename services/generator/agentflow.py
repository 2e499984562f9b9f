"""The workflow `agentflow`: write the answer to a request, or a test task."""

from services.generator.agentflow_prompt import (
    AnswerReply,
    TaskReply,
    build_answer_prompt,
    build_task_prompt,
    render_partial_answer,
    render_partial_task,
)
from shared.domain import commands as c
from shared.domain.memory import action_history
from shared.worker import WorkContext


async def write(context: WorkContext) -> c.GiveAnswer:
    return await (write_task if context.session.settings.task else write_answer)(context)


async def write_answer(context: WorkContext) -> c.GiveAnswer:
    """The answer. Its evidence keeps only ids of actions that finished or failed."""
    session = context.session
    messages = build_answer_prompt(context.prompt_session, context.deps.settings)
    reply = (await context.ask(messages, AnswerReply, kind="answer", render=render_partial_answer)).reply
    ended_ids = {
        action.id for action in action_history(session.memory, session.turn) if action.status in ("finished", "failed")
    }
    evidence = tuple(action_id for action_id in dict.fromkeys(reply.evidence) if action_id in ended_ids)
    return c.GiveAnswer(text=reply.text[:50_000], confidence=reply.confidence, evidence=evidence)


async def write_task(context: WorkContext) -> c.GiveAnswer:
    """The test task as JSON: {"q", "agt", "ogt"}."""
    reply = (
        await context.ask(build_task_prompt(context.session), TaskReply, kind="answer", render=render_partial_task)
    ).reply
    task = reply.model_dump_json(include={"q", "agt", "ogt"})
    return c.GiveAnswer(text=task[:50_000], confidence=reply.confidence)
