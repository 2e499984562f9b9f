"""Act with tools: write the answer to a request, or a test task."""

from services.generator.agentflow_prompt import (
    AnswerReply,
    TaskReply,
    answer_brief,
    answer_shown,
    task_brief,
    task_shown,
)
from shared.domain import commands as c
from shared.domain.memory import history
from shared.worker import WorkContext


async def write(context: WorkContext) -> c.GiveAnswer:
    return await (write_task if context.session.settings.task else write_answer)(context)


async def write_answer(context: WorkContext) -> c.GiveAnswer:
    """Evidence is what came of actions: ids of others, and of what was never run, are left out."""
    session = context.session
    reply = (await context.ask(answer_brief(session), AnswerReply, kind="answer", render=answer_shown)).reply
    ended = {deed.id for deed in history(session.memory, session.turn) if deed.status in ("finished", "failed")}
    evidence = tuple(one for one in dict.fromkeys(reply.evidence) if one in ended)
    return c.GiveAnswer(text=reply.text[:50_000], confidence=reply.confidence, evidence=evidence)


async def write_task(context: WorkContext) -> c.GiveAnswer:
    """The task as JSON: {"q", "agt", "ogt"}."""
    reply = (await context.ask(task_brief(context.session), TaskReply, kind="answer", render=task_shown)).reply
    task = reply.model_dump_json(include={"q", "agt", "ogt"})
    return c.GiveAnswer(text=task[:50_000], confidence=reply.confidence)
