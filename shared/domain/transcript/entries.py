"""The session's transcript: what was asked, said, decided, run and judged, oldest first. Pure.

It is derived from the log and feeds prompts and screens only: no rule of the session reads it. Entries are added and
never changed. Past MAX_BYTES the oldest ones are dropped until half remains, so that prompts begin alike between drops.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import assert_never

from pydantic import JsonValue

from parley.events import SessionEvent, facts
from parley.events.offers import OfferedCode, OfferedDraft, OfferedPlan, OfferedTurn
from parley.events.values import ActionSpec, EntryKind, FurtherQuestion, Outcome, Speaker, Step
from shared.domain.kernel.actors import KEEPER
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.transcript.compaction import CUT, cut, fitting, within
from shared.domain.transcript.dialogue import TranscriptEntry
from shared.domain.transcript.memory import text_of
from shared.domain.transcript.messages import read_until
from shared.domain.transcript.sub_goals import actions_by_sub_goal
from shared.domain.turn.action_ids import ActionId
from shared.domain.turn.batches import find_action
from shared.domain.turn.flow_paths import split_tool_name
from shared.domain.workflows.flow import plans_path

MAX_BYTES = 96 * 1024  # of all entries; a change of it changes what a replay of a log yields
MAX_ENTRY = 12_000  # bytes of one entry; its event has all of it
NAMES_CODE = ("code_version", "hash")  # arguments of a program's run
MAX_ARGUMENTS = 2_000  # characters of a call's arguments
SERVICES: dict[str, Speaker] = {"planner": "planner", "generator": "generator", "verifier": "verifier"}


def with_transcript(before: Session, after: Session, event: SessionEvent) -> Session:
    """The session after the event, with what the event adds to the transcript."""
    said = (TranscriptEntry(event.version, by, kind, text) for by, kind, text in _entries(before, event) if text)
    added = tuple(fitting(entry, MAX_ENTRY) for entry in said)
    return replace(after, transcript=within((*after.transcript, *added), MAX_BYTES)) if added else after


type Said = tuple[Speaker, EntryKind, str]


def _entries(before: Session, event: SessionEvent) -> Iterator[Said]:  # noqa: C901, PLR0912, PLR0915  a case an event
    """What the event adds: who speaks, what kind of entry it is, and its text."""
    given_up = before.reply if event.actor == KEEPER else None
    by = SERVICES.get(given_up.service if given_up else event.actor, "person")
    drafted = isinstance(event, facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned) and event.offer is None
    if drafted and any(message.version > read_until(before, event) for message in before.words.unread):
        return  # the next draft, which is made at once, is the one that people see
    match event:
        case facts.MessageReceived():
            yield "person", "request" if event.intent == "request" else "message", event.text
        case facts.QuestionAsked(kind="action" | "turns"):
            yield "tool", "question", event.text
        case facts.QuestionAsked(kind="request"):
            more = [_question(asked) for asked in event.further]
            yield by, "question", _reply("question", **_question(event), more=more)
        case facts.QuestionAnswered() if event.kind != "uncertain":
            begins = before.question is not None and before.question.about == "continue"
            yield "person", "request" if begins else "answered", _answers(before, event)
        case facts.RemarkAnswered():
            yield by, "answer", _reply("answer", text=event.text)
        case facts.AnswerGiven():
            listed = [f"{number}. {message}" for number, message in enumerate(event.next, 1)]
            proposed = ("", "Proposed as your next message:", *listed) if listed else ()
            yield by, "answer", _reply("answer", text="\n".join((event.text, *proposed)))
        case facts.PlanDrafted() | facts.CodeDrafted() | facts.TurnPlanned() if event.offer is not None:
            leaves_out = isinstance(event, facts.TurnPlanned) and not event.actions
            yield "person", "decision", "Took the offer." + (" What waited is left out." if leaves_out else "")
            yield by, "answer", _reply("answer", text=event.say) if event.say else ""
        case facts.OfferMade():
            yield by, "draft", _draft(event.draft, event.say)
        case facts.CodeDrafted() if event.disputes:
            yield by, "draft", _reply("test_wrong", say=event.say, reason=event.disputes)
        case facts.PlanDrafted() | facts.CodeDrafted():
            yield by, "draft", _draft(event, event.say)
        case facts.TurnPlanned() if event.plan_version is None or plans_path(event) or not event.actions:
            yield by, "draft", _draft(event, event.say)
        case facts.TurnVerified():
            went_as_planned = event.rule and (event.status, event.next_action) == ("success", "continue")
            said = "" if went_as_planned else f"{event.status}; {event.next_action}. {event.reasoning}"
            yield "verifier", "verdict", f"{said}{_changes_made(before, event)}".strip()
        case facts.CodeVerified():
            lines = (f"{check.name}: {'ok' if check.ok else check.detail or 'failed'}" for check in event.checks)
            yield "tool", "verdict", "\n".join(lines)
        case facts.ActionsFinished():
            for outcome in event.outcomes:
                yield "tool", "run", _run(before, outcome)
        case facts.ActionUncertain():
            yield "tool", "run", f"{_action(before, event.action_id)}\nuncertain: {event.reason}"
        case facts.SessionFailed():
            yield "tool", "run", f"The {event.phase} failed: {event.reason}"
        case _:
            yield "person", "decision", _decision(before, event)
    if isinstance(event, facts.ApprovalDenied):  # its words are instructions, as those of any message
        yield "person", "message", event.reason


def _changes_made(before: Session, event: facts.TurnVerified) -> str:
    """Which sub-goals are done, of those for which something was changed: they are not planned again."""
    turn = before.turn
    if turn is None or turn.rules.by_step:
        return ""
    status = {verdict.sub_goal: verdict.status for verdict in event.sub_goals}
    changed = {
        action.spec.id for action in turn.actions if action.status == "finished" and action.spec.effect != "read"
    }
    done = [
        goal
        for goal, ids in actions_by_sub_goal(turn).items()
        if changed.intersection(ids) and status.get(goal, event.status) == "success"
    ]
    return f" Done: {'; '.join(done)}." if done else ""


def _reply(kind: str, **fields: object) -> str:
    """The reply of a service as it was, without what is empty."""
    said = {name: value for name, value in fields.items() if value}
    return json.dumps({"reply": {"kind": kind} | said}, ensure_ascii=False)


def _question(asked: facts.QuestionAsked | FurtherQuestion) -> dict[str, object]:
    """A question as the model asked it."""
    fields = {"options": [option.label for option in asked.options], "several": asked.several}
    return {"text": asked.text} | {name: value for name, value in fields.items() if value}


def _answers(before: Session, event: facts.QuestionAnswered) -> str:
    """The answer; with its question, where several were asked together (`place` counts them)."""
    question = before.question
    if question is None or not (question.place or question.further):
        return event.text
    asked = (question.text, *(further.text for further in question.further))
    return "\n".join(f"{text} – {answer}" for text, answer in zip(asked, (event.text, *event.more), strict=False))


def _draft(draft: facts.PlanDrafted | facts.CodeDrafted | facts.TurnPlanned | OfferedDraft, say: str) -> str:
    """A draft as its service wrote it, without steps and programs: prompts show those that count, and an open offer."""
    body = CUT if isinstance(draft, facts.PlanDrafted | facts.CodeDrafted) else ""
    match draft:
        case facts.CodeDrafted() | OfferedCode():
            return _reply("code", say=say, explanation=draft.explanation, wish=draft.wish, code=body)
        case facts.PlanDrafted() | OfferedPlan() if plans_path(draft):
            return _reply("path", say=say, reasoning=draft.notes, paths=_paths(draft.steps))
        case facts.PlanDrafted() | OfferedPlan():
            return _reply("plan", say=say, goal=draft.goal, steps=body, notes=draft.notes)
        case facts.TurnPlanned() | OfferedTurn() if plans_path(draft):
            return _reply("path", say=say, reasoning=draft.reasoning, paths=_paths(draft.actions))
        case facts.TurnPlanned() | OfferedTurn() if not draft.actions:
            return _reply("nothing_to_do", say=say, reason=draft.reasoning)
        case facts.TurnPlanned() | OfferedTurn():
            calls = [{"call": {"tool": spec.tool, **_arguments(spec)}} for spec in draft.actions]
            return _reply("turn", say=say, reasoning=draft.reasoning, sub_goal=draft.sub_goal, actions=calls)
    assert_never(draft)


def _paths(nodes: Iterable[Step | ActionSpec]) -> list[object]:
    """The nodes by flow, as the planner names them."""
    names = groupby((split_tool_name(node.tool or "") for node in nodes), key=itemgetter(0))
    return [{"flow": flow, "nodes": [node for _, node in named]} for flow, named in names]


def _run(before: Session, outcome: Outcome) -> str:
    """A call with its arguments, and what it gave."""
    given = _result(outcome.result)
    came = given if outcome.ok else f"failed: {outcome.error}\n{given}".rstrip()
    return f"{_action(before, outcome.action_id)}\n{came}"


def _call(spec: ActionSpec) -> str:
    """The tool and its arguments; those of a program without what names its version."""
    told = {name: value for name, value in spec.arguments.items() if name not in NAMES_CODE}
    return f"{spec.tool} {cut(text_of(told), MAX_ARGUMENTS)}"


def _result(result: JsonValue) -> str:
    """What a call gave; of a program its exit code, how it ended otherwise, and what it printed, as it was."""
    match result:
        case None:
            return ""
        case {"exit_code": code, "stdout": str(printed), "stderr": str(errors), **rest}:
            ended = rest.get("ended", "exited")
            head = f"exit code {code}" if ended == "exited" else f"ended: {ended}"
            return "\n".join(part.rstrip("\n") for part in (head, printed, errors) if part)
        case _:
            return text_of(result)


def _shown_id(before: Session, action_id: str) -> str:
    """The id of an action as prompts name it: of a plan's step without its task, as the section <plan> shows it."""
    return ActionId.parse(action_id).within if before.turn and before.turn.rules.by_step else action_id


def _decision(before: Session, event: SessionEvent) -> str:  # noqa: C901, PLR0911, PLR0912  one line for each event
    """What a person has decided, in words; "" for events that are no decisions."""
    match event:
        case facts.PlanApproved():
            return f"Approved {_plan(before)}."
        case facts.PlanRejected() | facts.CodeRejected():
            what = _plan(before) if isinstance(event, facts.PlanRejected) else _program(before)
            return f"Declined {what}" + (": wants another one, from scratch." if event.replan else ".")
        case facts.PlanEdited():
            return f"Edited the plan; it is plan {before.counts.plans + 1} now. {_edited(before, event)}".rstrip()
        case facts.CodeEdited():
            return f"Edited the program; it is program {before.counts.codes + 1} now. {_changed_lines(before, event)}"
        case facts.CodeApproved():
            return f"Approved {_program(before)}."
        case facts.PlanCancelled():
            return "Cancelled the plan."
        case facts.PlanDeleted():
            return "Deleted the plan."
        case facts.OfferKept():
            return "Kept what was there, and turned the offer down."
        case facts.ApprovalGiven():
            return f"Approved {_action(before, event.action_id)}."
        case facts.ApprovalDenied():
            return f"Declined {_action(before, event.action_id)}."
        case facts.ApprovalExpired():
            return "Nobody decided in time."
        case facts.QuestionAnswered():
            return f"Told what became of {_action(before, event.question_id)}: {event.text}"
        case facts.ActionSkipped():
            gave = f", and gave its output: {text_of(event.output)}" if event.output is not None else ""
            return f"Left out {_shown_id(before, event.action_id)}{gave}. {event.reason}".rstrip()
        case facts.TurnRequested():
            return f"Asked for: {', '.join(spec.tool for spec in event.actions)}"
        case facts.TurnChanged() if event.actor.startswith("user"):
            return "Changed what comes next: " + ", ".join(spec.tool for spec in event.actions)
        case facts.SessionStopped():
            return f"Stopped the work. {event.reason}".rstrip()
        case facts.SessionRetried():
            return "Asked to try again."
        case facts.AnswerJudged() if event.accepted:
            return "Accepted the answer."
        case _:
            return ""


def _plan(before: Session) -> str:
    return f"plan {before.plan.number if before.plan else 0}"


def _program(before: Session) -> str:
    return f"program {before.code.number if before.code else 0}"


def _action(before: Session, action_id: str) -> str:
    """The id of an action, with its call."""
    action = find_action(before, action_id)
    return _shown_id(before, action_id) + (f" {_call(action.spec)}" if action else "")


def _arguments(spec: ActionSpec) -> dict[str, JsonValue]:
    """The arguments, as a call has them beside its tool; cut, as text, if they are long."""
    text = text_of(spec.arguments)
    if len(text) > MAX_ARGUMENTS:
        return {"arguments": cut(text, MAX_ARGUMENTS)}
    return spec.arguments if "tool" not in spec.arguments else {"arguments": spec.arguments}


def _edited(before: Session, event: facts.PlanEdited) -> str:
    """Which steps are new or changed, by their places; and the words of steps that stand there no longer."""
    old = before.plan.steps if before.plan else ()
    known, words = [_step(step) for step in old], {step.text for step in event.steps}
    changed = [str(number) for number, step in enumerate(event.steps, 1) if _step(step) not in known]
    earlier = [f"“{step.text}”" for step in old if step.text not in words]
    parts = (
        f"The person wrote step {', '.join(changed)}." if changed else "",
        cut(f"Before it said {', '.join(earlier)}.", MAX_ARGUMENTS) if earlier else "",
    )
    return " ".join(filter(None, parts))


def _changed_lines(before: Session, event: facts.CodeEdited) -> str:
    """The lines from the first to the last that the person changed."""
    old, new = (before.code.code if before.code else "").split("\n"), event.code.split("\n")
    first = _equal_lines(old, new)
    end = len(new) - _equal_lines(old[first:][::-1], new[first:][::-1])
    if first == end:
        return f"The person took lines out after line {first}."
    where = f"line {end}" if end == first + 1 else f"lines {first + 1} to {end}"
    return cut("\n".join((f"The person wrote {where}:", *new[first:end])), MAX_ARGUMENTS)


def _equal_lines(old: list[str], new: list[str]) -> int:
    """How many lines they begin with in common."""
    differing = (place for place, (before, after) in enumerate(zip(old, new, strict=False)) if before != after)
    return next(differing, min(len(old), len(new)))


def _step(step: Step) -> str:
    return json.dumps(step.model_dump(mode="json", exclude={"fingerprint"}), sort_keys=True)
