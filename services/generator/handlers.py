"""Generator: write the program for the approved plan, the answer to a request, or a test task."""

from services.generator.answer_prompt import (
    AnswerReply,
    TaskReply,
    answer_brief,
    answer_shown,
    task_brief,
    task_shown,
)
from services.generator.prompt import CodeDraft, CodeReply, brief, program, shown
from shared.domain import commands as c
from shared.domain.memory import history
from shared.domain.paths import PERSON, split
from shared.domain.state import Turn
from shared.domain.workflows.flow import path_of
from shared.llm.dialogue import asks_again, offered, spoken
from shared.worker import Desk

SUPPORT = 3  # the last nodes of a path: on what they made the answer rests


async def write(desk: Desk) -> c.DraftCode | c.GiveAnswer | c.AnswerRemark | c.Ask:
    if desk.session.phase == "coding":
        return await write_code(desk)
    return await (write_task if desk.session.settings.task else write_answer)(desk)


async def write_code(desk: Desk) -> c.DraftCode | c.AnswerRemark | c.Ask:
    session = desk.session
    reply = await desk.ask(
        brief(session), offered(CodeReply, session), kind="code", render=shown, refuse=asks_again(session)
    )
    made = reply.reply
    if not isinstance(made, CodeDraft):
        return spoken(made, session)
    return c.DraftCode(code=program(made.code), explanation=made.explanation.strip())


async def write_answer(desk: Desk) -> c.GiveAnswer:
    """Evidence is what came of actions: ids of others, and of what was never run, are left out."""
    session = desk.session
    if session.turn and path_of(session.turn):
        return found_on_the_way(session.turn)
    reply = (await desk.ask(answer_brief(session), AnswerReply, kind="answer", render=answer_shown)).reply
    ended = {deed.id for deed in history(session.memory, session.turn) if deed.status in ("finished", "failed")}
    evidence = tuple(one for one in dict.fromkeys(reply.evidence) if one in ended)
    return c.GiveAnswer(text=reply.text[:50_000], confidence=reply.confidence, evidence=evidence)


def found_on_the_way(turn: Turn) -> c.GiveAnswer:
    """The answer that a path's nodes made, as it is, and how far the path came if not to its end."""
    finished = [action for action in turn.actions if action.status == "finished"]
    nodes = [action.spec.id for action in finished if split(action.spec.tool)[1] != PERSON]
    evidence = tuple(nodes[-SUPPORT:])
    made = [a.result for a in finished if isinstance(a.result, dict) and a.result.get("answer")]
    reason = turn.verdict.reasoning if turn.verdict else ""
    if made:
        sure = made[-1].get("confidence", 1)
        confidence = min(max(float(sure), 0), 1) if isinstance(sure, (int, float)) else 1
        early = f"\n\n{reason}" if turn.verdict and turn.verdict.status != "success" else ""
        text = str(made[-1]["answer"])[:45_000] + early
        return c.GiveAnswer(text=text, confidence=confidence, evidence=evidence)
    return c.GiveAnswer(text=f"There is no answer. {reason}".strip(), confidence=0, evidence=evidence)


async def write_task(desk: Desk) -> c.GiveAnswer:
    """The task as JSON: {"q", "agt", "ogt"}."""
    reply = (await desk.ask(task_brief(desk.session), TaskReply, kind="answer", render=task_shown)).reply
    task = reply.model_dump_json(include={"q", "agt", "ogt"})
    return c.GiveAnswer(text=task[:50_000], confidence=reply.confidence)
