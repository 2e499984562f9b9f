"""AgentFlow's planner: the next turn of tool calls, a question, or that nothing is left to do."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from services.planner.agentflow_prompt import TurnReply, brief, shown
from services.planner.proposals import Proposal, standstill, weigh
from shared.domain import commands as c
from shared.domain.memory import history
from shared.domain.said import drafting
from shared.domain.session import Session
from shared.events.values import Recalled
from shared.tools import CheckCalls, PastCall, ToolPage, past_calls
from shared.worker import Desk

HELPS = 2  # questions of one request about how to go on: after that the answer says what stood in the way
TRIES = 3  # proposals of one turn; after that the person is asked
SEARCHES = 2  # of these, wishes for other tools
HELP = "What should I do?"
Recalls = Callable[[Session], Awaitable[tuple[Recalled, ...]]]


class Tools(Protocol):
    async def fitting(self, words: str, used: tuple[str, ...] = ()) -> ToolPage: ...

    async def check(self, ask: CheckCalls) -> tuple[str, ...]: ...


async def plan_turn(desk: Desk, tools: Tools, recall: Recalls) -> c.PlanTurn | c.Ask | c.AnswerRemark:
    """One model call where all goes well. What cannot be taken goes back with the reason, a bounded number of times."""
    session = drafting(desk.session)
    if session.settings.task:
        return c.PlanTurn(
            sub_goal="Draft a test task", actions=(), reasoning="The task is drafted from what was given."
        )
    recalled = await recall(session)
    page = await tools.fitting(_words(session), _used(session))
    nudge = "Three turns came to nothing. Try something else, ask, or say what cannot be done." * standstill(session)
    searches = 0
    proposal = Proposal(())
    for _ in range(TRIES + SEARCHES):
        reply = await desk.ask(brief(desk.session, page, recalled, nudge), TurnReply, kind="plan", render=shown)
        if spoken := reply.spoken(desk.session, planned=reply.actions):
            return spoken
        if reply.more_tools.strip() and not reply.actions and searches < SEARCHES:
            searches += 1
            page = await tools.fitting(reply.more_tools, _used(session))
            nudge = f"These are the tools that fit “{reply.more_tools[:200]}”. Is none of them right, say so."
            continue
        proposal = await allowed(session, weigh(session, reply, page.tools), page, tools)
        if not proposal.problems:
            return _turn(reply, proposal, () if session.counts.turns > session.counts.turns_before else recalled)
        nudge = "\n".join(proposal.problems)
    return _give_up(session, proposal)


async def allowed(session: Session, proposal: Proposal, page: ToolPage, tools: Tools) -> Proposal:
    """The proposal, with what the packs of its tools have against it. What was learnt earlier in the session counts."""
    checked = {spec.name for spec in page.tools if spec.checked}
    calls = tuple(
        PastCall(tool=action.tool, arguments=action.arguments, status="planned")
        for action in proposal.actions
        if action.tool in checked
    )
    if proposal.problems or not calls:
        return proposal
    past = past_calls((*session.memory.earlier, *history(session.memory, session.turn)))
    return proposal._replace(problems=await tools.check(CheckCalls(past=past, calls=calls)))


def _turn(reply: TurnReply, proposal: Proposal, recalled: tuple[Recalled, ...]) -> c.PlanTurn:
    nothing = (
        "Nothing is left to do" if not proposal.actions else proposal.actions[0].description or proposal.actions[0].tool
    )
    return c.PlanTurn(
        sub_goal=(reply.sub_goal.strip() or nothing)[:500],
        actions=proposal.actions,
        selected_tool=reply.selected_tool[:500] or (proposal.actions[0].tool if proposal.actions else ""),
        required_skills=tuple(skill[:200] for skill in reply.required_skills),
        reasoning=reply.reasoning[:10_000],
        sub_goals=tuple(dict.fromkeys(goal.strip()[:500] for goal in reply.sub_goals if goal.strip())),
        final=reply.final,
        recalled=recalled,
    )


def _give_up(session: Session, proposal: Proposal) -> c.PlanTurn | c.Ask:
    """A person is asked how to go on, but not for ever: then the answer follows, with what stood in the way."""
    why = " ".join(proposal.problems) or "I did not find tools that help."
    asked = sum(said.question.endswith(HELP) for said in session.words.dialogue)
    if asked >= HELPS:
        return c.PlanTurn(sub_goal="Tell how far it came", actions=(), reasoning=f"I could not go on. {why}"[:10_000])
    begin = "I am going round in circles." if proposal.stuck else "I cannot go on by myself."
    return c.Ask(text=f"{begin} {why} {HELP}")


def _words(session: Session) -> str:
    """What the tools should fit: the newest words count as much as the request."""
    return " ".join(
        (session.words.request, *session.words.feedback[-3:], *(goal.goal for goal in session.memory.sub_goals))
    )


def _used(session: Session) -> tuple[str, ...]:
    return tuple(dict.fromkeys(deed.tool for deed in history(session.memory, session.turn)))
