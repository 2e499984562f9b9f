"""The workflow `agentflow`: plan the next turn, check the calls that the model proposes, or ask for what is missing."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from parley.events.values import ActionSpec, Recalled
from parley.protocol.tools import CheckCalls, PastCall, ToolPage, ToolSpec, past_calls
from parley.reply import AcceptedOffer, QuestionDraft, WordsDraft
from services.planner.agentflow_prompt import (
    MoreTools,
    NothingToDo,
    Planned,
    TurnDraft,
    build_prompt,
    render_partial,
    turn_reply,
)
from services.planner.recall import Examples, no_examples, recalls_now
from services.planner.tools import ToolLookup, choose
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.steps.references import ITEM, malformed_references, referenced_calls, references
from shared.domain.transcript.memory import ActionRecord, action_history, key_of
from shared.domain.transcript.messages import drafting_session
from shared.domain.transcript.queries import questions, said_since_request
from shared.domain.transcript.sub_goals import TURN_SUB_GOALS, sub_goals_of
from shared.domain.turn.action_ids import ActionId
from shared.llm.dialogue import MAX_QUESTIONS, refuse_repeated, refused_proposal, reply_for, to_command
from shared.plan_checks.argument_kinds import reference_problems
from shared.plan_checks.calls import repair_arguments
from shared.worker import WorkContext

REFUSAL_PREFIX = "Error"  # of a tool's error: with the same arguments the tool would refuse again
STALLED_AFTER = 3  # consecutive failed turns


type Arguments = dict[str, JsonValue]
MAX_HELP_QUESTIONS = 2  # per request, about how to continue; after that the answer explains the obstacle
MAX_PROPOSALS = 3  # per turn; after that the planner asks the user
MAX_SEARCHES = 2  # further model calls of a turn that ask for other tools
HELP_QUESTION = "What should I do?"
STALLED = "Three turns came to nothing. Try something else, ask, or say what cannot be done."
Recall = Callable[[Session], Awaitable[tuple[Recalled, ...]]]


class TurnProposal(NamedTuple):
    """The actions of a proposed turn.

    `problems` tell the model why the turn is rejected. `is_stuck`: it only repeats earlier calls.
    """

    actions: tuple[ActionSpec, ...]
    problems: tuple[str, ...] = ()
    is_stuck: bool = False


def validate(session: Session, planned_turn: TurnDraft, tools: Sequence[ToolSpec]) -> TurnProposal:
    """The turn's calls with repaired arguments, checked against the tools and the session's history."""
    known = {spec.name: spec for spec in tools}
    turn = session.counts.turns + 1
    actions: list[ActionSpec] = []
    problems: list[str] = []
    for number, planned in enumerate(planned_turn.actions, 1):
        spec = known.get(planned.tool)
        if spec is None:
            problems.append(f"There is no tool “{planned.tool[:80]}” here.")
            continue
        repaired = repair_arguments(planned.arguments if planned.arguments is not None else {}, spec)
        wrong = (*repaired.problems, *_reference_problems(repaired.arguments, spec, number, len(planned_turn.actions)))
        problems += [f"{planned.tool}: {problem}" for problem in wrong]
        actions.append(
            ActionSpec(
                id=ActionId.of_turn(turn, number),
                tool=spec.name,
                arguments=repaired.arguments,
                description=planned.text[:2000],
                effect=spec.effect,
                depends_on=_dependency_ids(planned, repaired.arguments, turn, number, len(planned_turn.actions)),
                approval_reason=_approval_reason(session, spec),
                policy=spec.policy,
                repairs=repaired.repairs,
                quiet=spec.quiet,
                sub_goal=planned.sub_goal.strip()[:500],
            )
        )
    sub_goals = sub_goals_of(planned_turn.sub_goal, actions)
    if len(sub_goals) > TURN_SUB_GOALS:
        problems.append(f"A turn works on at most {TURN_SUB_GOALS} sub-goals: leave the others to the next turn.")
    if problems:
        return TurnProposal((), tuple(problems))
    if len(sub_goals) == 1:  # it is the turn's own sub-goal, whatever its wording
        actions = [action.model_copy(update={"sub_goal": ""}) for action in actions]
    if duplicate := _duplicate_problem(actions):
        return TurnProposal((), (duplicate,))
    past_actions = action_history(session.memory, session.turn)
    if actions and (repetition := repetition_problem(actions, past_actions, allow_retry=not is_stalled(session))):
        return TurnProposal(tuple(actions), (repetition,), is_stuck=True)
    return TurnProposal(tuple(actions))


def _approval_reason(session: Session, spec: ToolSpec) -> str | None:
    """Why the user has to approve this call; None if they waived approvals for its tool."""
    is_needed = spec.is_confirmed(session.settings.confirm) and session.policies.get(spec.name) != "never"
    return spec.confirm if is_needed else None


def _reference_problems(arguments: Arguments, spec: ToolSpec, number: int, count: int) -> Iterator[str]:
    """Why what the call number `number` of `count` refers to cannot be filled in."""
    yield from reference_problems(arguments, spec.parameters)
    known = [f"{{{{calls.{other}.output}}}}" for other in range(1, count + 1) if other != number]
    for reference in references(arguments):
        call = int(reference.step) if reference.step.isdigit() else 0
        if reference.step != ITEM and (not 1 <= call <= count or call == number):
            yield f"{reference.text} is not the result of another call of this turn, such as {', '.join(known)}."
    yield from (
        f"{text[:80]} is no reference: write {{{{calls.1.output}}}}, or {{{{calls.1.output.orders[0]}}}} for a part."
        for text in malformed_references(arguments)
        if ".output" in text
    )


def _dependency_ids(planned: Planned, arguments: Arguments, turn: int, number: int, count: int) -> tuple[str, ...]:
    """The ids of the calls this one depends on or refers to, without itself and unknown numbers."""
    named = dict.fromkeys((*planned.depends_on, *referenced_calls(arguments)))
    return tuple(f"{turn}.{need}" for need in named if 1 <= need <= count and need != number)


def _duplicate_problem(actions: Sequence[ActionSpec]) -> str:
    """The problem of a write that the reply contains more than once; "" if there is none."""
    changes = [(action.tool, key_of(action.tool, action.arguments)) for action in actions if action.effect != "read"]
    names = ", ".join(dict.fromkeys(change[0] for change in changes if changes.count(change) > 1))
    return f"The same call twice, and it changes something ({names}): once is enough." if names else ""


def repetition_problem(
    actions: Sequence[ActionSpec], past_actions: Sequence[ActionRecord], *, allow_retry: bool = True
) -> str:
    """Why these calls are pointless: each was made before and nothing has changed since; "" if they are not.

    With `allow_retry`, a call that timed out, was stopped or found its server unavailable may be repeated; a refused
    call may not.
    """
    last_change = max(
        (at for at, past in enumerate(past_actions) if past.effect != "read" and _may_have_changed(past)), default=-1
    )
    for action in actions:
        candidates = past_actions if action.effect != "read" else past_actions[last_change + 1 :]
        key = key_of(action.tool, action.arguments)
        if not any(past.key == key and _is_settled(past, allow_retry) for past in candidates):
            return ""
    names = ", ".join(dict.fromkeys(action.tool for action in actions))
    return (
        f"These calls have been made with the same arguments already ({names}): their results are in the conversation."
    )


def _may_have_changed(past: ActionRecord) -> bool:
    return past.status in ("finished", "uncertain")


def _is_settled(past: ActionRecord, allow_retry: bool) -> bool:
    """Whether repeating this call is pointless. A read whose result has left the memory may be repeated."""
    if past.status == "failed":
        return not allow_retry or past.text.startswith(REFUSAL_PREFIX)
    return past.status == "denied" or (past.status == "finished" and not (past.is_summary and past.effect == "read"))


def is_stalled(session: Session) -> bool:
    """Whether the last STALLED_AFTER turns all failed."""
    last = session.memory.verdicts[-STALLED_AFTER:]
    return len(last) == STALLED_AFTER and all(verdict.status == "failure" for verdict in last)


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
