"""Plans the next turn of an agentflow session: tool calls, a question, or the finding that nothing is left to do."""

from collections.abc import Awaitable, Callable

from parley.events.values import Recalled
from parley.protocol.tools import CheckCalls, PastCall, ToolPage, past_calls
from parley.reply import AcceptedOffer, QuestionDraft, WordsDraft
from services.planner.agentflow_prompt import MoreTools, NothingToDo, TurnDraft, build_prompt, render_partial
from services.planner.examples import Examples, no_examples
from services.planner.proposals import TurnProposal, is_stalled, validate
from services.planner.recall import recalls_now
from services.planner.tool_choice import ToolLookup, choose
from services.planner.turn_reply import turn_reply
from shared.domain import commands as c
from shared.domain.memory import action_history
from shared.domain.messages import drafting_session
from shared.domain.session import Session
from shared.domain.transcript_queries import questions, said_since_request
from shared.llm.dialogue import MAX_QUESTIONS, refuse_repeated, refused_proposal, reply_for, to_command
from shared.worker import WorkContext

MAX_HELP_QUESTIONS = 2  # per request, about how to continue; after that the answer explains the obstacle
MAX_PROPOSALS = 3  # per turn; after that the planner asks the user
MAX_SEARCHES = 2  # further model calls of a turn that ask for other tools
HELP_QUESTION = "What should I do?"
STALLED = "Three turns came to nothing. Try something else, ask, or say what cannot be done."
Recall = Callable[[Session], Awaitable[tuple[Recalled, ...]]]


async def plan_turn(
    context: WorkContext, tools: ToolLookup, recall: Recall, examples: Examples = no_examples
) -> c.PlanTurn | c.NoDraft:
    """The command for the next turn.

    The planner usually makes one model call. It returns an invalid proposal to the model with the reasons, at most
    MAX_PROPOSALS times, and searches for other tools at most MAX_SEARCHES times.
    """
    session = drafting_session(context.session)
    if session.settings.task:
        reasoning = "The task is drafted from what was given."  # which may be a customer's record
        return c.PlanTurn(sub_goal="Draft a test task", actions=(), reasoning=reasoning, tells_subjects=True)
    recalled, similar = (await recall(session), await examples(session)) if recalls_now(session) else ((), ())
    used = _used_tools(session)
    choice = await choose(tools, session.words.request, _words(session), used)
    problems = STALLED if is_stalled(session) else ""
    searches = 0
    proposal = TurnProposal(())
    for _ in range(MAX_PROPOSALS + MAX_SEARCHES):
        page = choice.all_tools
        reply = await context.ask(
            build_prompt(
                context.prompt_session,
                context.deps.settings,
                choice,
                recalled=recalled,
                problems=problems,
                examples=similar,
            ),
            reply_for(turn_reply(page, searchable=searches < MAX_SEARCHES), context.session),
            kind="plan",
            render=render_partial,
            refuse=refuse_repeated(context.session),
        )
        stated = {"recalled": recalled, "tells_subjects": page.tells_subjects}
        match reply.reply:
            case QuestionDraft() | WordsDraft() | AcceptedOffer() as draft:
                return to_command(draft)
            case NothingToDo() as nothing:
                return _empty_turn(nothing).model_copy(update=stated)
            case MoreTools(words=words):
                searches += 1
                choice = await choice.with_matching(tools, words, used)
                problems = f"These are the tools that fit “{words[:200]}”. If none of them is right, say so."
            case TurnDraft() as turn:
                choice = await choice.with_named(tools, (action.tool for action in turn.actions))
                page = choice.all_tools
                proposal = await checked_by_packs(session, validate(session, turn, page.tools), page, tools)
                if not proposal.problems:
                    return _turn(turn, proposal).model_copy(update=stated)
                problems = "\n".join((*proposal.problems, *refused_proposal(reply)))
    given_up = _give_up(session, proposal)
    tells = {"tells_subjects": choice.page.tells_subjects}
    return given_up.model_copy(update=tells) if isinstance(given_up, c.PlanTurn) else given_up


async def checked_by_packs(session: Session, proposal: TurnProposal, page: ToolPage, tools: ToolLookup) -> TurnProposal:
    """The proposal, with the objections of the packs whose tools it calls. Earlier calls of the session count.

    A call that depends on others of the turn is checked with their results, right before it starts.
    """
    checked = {spec.name for spec in page.tools if spec.checked}
    calls = tuple(
        PastCall(tool=action.tool, arguments=action.arguments, status="planned")
        for action in proposal.actions
        if action.tool in checked and not action.depends_on
    )
    if proposal.problems or not calls:
        return proposal
    past = past_calls((*session.memory.earlier, *action_history(session.memory, session.turn)))
    return proposal._replace(problems=await tools.check(CheckCalls(past=past, calls=calls)))


def _turn(turn: TurnDraft, proposal: TurnProposal) -> c.PlanTurn:
    first = proposal.actions[0]
    sub_goals = "; ".join(
        dict.fromkeys(planned.sub_goal.strip() for planned in turn.actions if planned.sub_goal.strip())
    )
    return c.PlanTurn(
        sub_goal=(turn.sub_goal.strip() or sub_goals or first.description or first.tool)[:500],
        actions=proposal.actions,
        selected_tool=proposal.actions[-1].tool,  # a turn usually ends with the call it is about
        required_skills=tuple(skill[:200] for skill in turn.required_skills),
        reasoning=turn.reasoning[:10_000],
        say=turn.say.strip(),
        sub_goals=tuple(dict.fromkeys(goal.strip()[:500] for goal in turn.sub_goals if goal.strip())),
        final=turn.final,
    )


def _empty_turn(nothing: NothingToDo) -> c.PlanTurn:
    fields = {"sub_goal": "Nothing is left to do", "reasoning": nothing.reason[:10_000], "say": nothing.say.strip()}
    return c.PlanTurn(**fields, actions=())


def _give_up(session: Session, proposal: TurnProposal) -> c.PlanTurn | c.Ask:
    """Ask the user how to continue; once they were asked often enough, end the work with the obstacle as its reason."""
    why = " ".join(proposal.problems) or "I did not find tools that help."
    opening = "I am going round in circles." if proposal.is_stuck else "I cannot go on by myself."
    question = f"{opening} {why} {HELP_QUESTION}"
    asked = [text for together in questions(session) for text in together]
    has_asked_enough = sum(text.endswith(HELP_QUESTION) for text in asked) >= MAX_HELP_QUESTIONS
    if has_asked_enough or len(questions(session)) >= MAX_QUESTIONS or question in asked:
        return c.PlanTurn(sub_goal="Tell how far it came", actions=(), reasoning=f"I could not go on. {why}"[:10_000])
    return c.Ask(text=question)


def _words(session: Session) -> str:
    """What the search for more tools matches: the latest messages, and the sub-goals that are open."""
    pending = (goal.goal for goal in session.memory.sub_goals if goal.status == "pending")
    return " ".join((*said_since_request(session)[-3:], *pending))


def _used_tools(session: Session) -> tuple[str, ...]:
    actions = (*session.memory.earlier, *action_history(session.memory, session.turn))
    return tuple(dict.fromkeys(action.tool for action in actions))
