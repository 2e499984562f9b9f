"""AgentFlow's planner: the next turn of tool calls, a question, or that nothing is left to do."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from parley.events.values import Recalled
from parley.protocol.tools import CheckCalls, PastCall, ToolPage, past_calls
from parley.reply import QuestionDraft, WordsDraft
from services.planner.agentflow_prompt import MoreTools, NothingToDo, TurnDraft, brief, shown
from services.planner.calls import turn_reply
from services.planner.examples import Examples, no_examples
from services.planner.proposals import Proposal, standstill, weigh
from shared.domain import commands as c
from shared.domain.memory import history
from shared.domain.said import drafting
from shared.domain.session import Session
from shared.llm.dialogue import QUESTIONS, refuse_repeated, reply_for, to_command
from shared.worker import WorkContext

HELPS = 2  # questions of one request about how to go on: after that the answer says what stood in the way
TRIES = 3  # proposals of one turn; after that the person is asked
SEARCHES = 2  # of these, wishes for other tools
HELP = "What should I do?"
Recalls = Callable[[Session], Awaitable[tuple[Recalled, ...]]]


class Tools(Protocol):
    async def fitting(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage: ...

    async def check(self, ask: CheckCalls) -> tuple[str, ...]: ...


async def plan_turn(
    context: WorkContext, tools: Tools, recall: Recalls, examples: Examples = no_examples
) -> c.PlanTurn | c.Ask | c.AnswerRemark:
    """One model call where all goes well. What cannot be taken goes back with the reason, a bounded number of times."""
    session = drafting(context.session)
    if session.settings.task:
        return c.PlanTurn(
            sub_goal="Draft a test task", actions=(), reasoning="The task is drafted from what was given."
        )
    recalled = await recall(session)
    alike = await examples(session) if session.counts.turns == session.counts.turns_before else ()
    page = await tools.fitting(_words(session), _used(session))
    nudge = "Three turns came to nothing. Try something else, ask, or say what cannot be done." * standstill(session)
    searches = 0
    proposal = Proposal(())
    for _ in range(TRIES + SEARCHES):
        reply = await context.ask(
            brief(context.session, page, recalled, nudge, alike),
            reply_for(turn_reply(page, searchable=searches < SEARCHES), context.session),
            kind="plan",
            render=shown,
            refuse=refuse_repeated(context.session),
        )
        fresh = () if session.counts.turns > session.counts.turns_before else recalled
        match reply.reply:
            case QuestionDraft() | WordsDraft() as said:
                return to_command(said, context.session)
            case NothingToDo(reason=reason):
                return _nothing(reason, fresh)
            case MoreTools(words=words):
                searches += 1
                page = await tools.fitting(words, _used(session))
                nudge = f"These are the tools that fit “{words[:200]}”. Is none of them right, say so."
            case TurnDraft() as turn:
                proposal = await allowed(session, weigh(session, turn, page.tools), page, tools)
                if not proposal.problems:
                    return _turn(turn, proposal, fresh)
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


def _turn(turn: TurnDraft, proposal: Proposal, recalled: tuple[Recalled, ...]) -> c.PlanTurn:
    first = proposal.actions[0]
    named = "; ".join(dict.fromkeys(planned.sub_goal.strip() for planned in turn.actions if planned.sub_goal.strip()))
    return c.PlanTurn(
        sub_goal=(turn.sub_goal.strip() or named or first.description or first.tool)[:500],
        actions=proposal.actions,
        selected_tool=proposal.actions[-1].tool,  # a turn leads up to its last call
        required_skills=tuple(skill[:200] for skill in turn.required_skills),
        reasoning=turn.reasoning[:10_000],
        sub_goals=tuple(dict.fromkeys(goal.strip()[:500] for goal in turn.sub_goals if goal.strip())),
        final=turn.final,
        recalled=recalled,
    )


def _nothing(reason: str, recalled: tuple[Recalled, ...]) -> c.PlanTurn:
    return c.PlanTurn(sub_goal="Nothing is left to do", actions=(), reasoning=reason[:10_000], recalled=recalled)


def _give_up(session: Session, proposal: Proposal) -> c.PlanTurn | c.Ask:
    """A person is asked how to go on, but not for ever: then the answer follows, with what stood in the way."""
    why = " ".join(proposal.problems) or "I did not find tools that help."
    begin = "I am going round in circles." if proposal.stuck else "I cannot go on by myself."
    question = f"{begin} {why} {HELP}"
    asked = [said.question for said in session.words.dialogue]
    helped = sum(one.endswith(HELP) for one in asked) >= HELPS
    if helped or len(asked) >= QUESTIONS or question in asked:
        return c.PlanTurn(sub_goal="Tell how far it came", actions=(), reasoning=f"I could not go on. {why}"[:10_000])
    return c.Ask(text=question)


def _words(session: Session) -> str:
    """What the tools should fit: the newest words count as much as the request."""
    return " ".join(
        (session.words.request, *session.words.feedback[-3:], *(goal.goal for goal in session.memory.sub_goals))
    )


def _used(session: Session) -> tuple[str, ...]:
    return tuple(dict.fromkeys(deed.tool for deed in history(session.memory, session.turn)))
