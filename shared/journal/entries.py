"""The journal entries of an event. They depend on the event alone, not on the session.

So a journal that is read later, in parts, or from another gateway equals the one that was sent live.
"""

from collections.abc import Iterator

from pydantic import JsonValue

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, FurtherQuestion, PathPlan
from parley.protocol import journal as j
from parley.protocol.views import PlannedPathView
from parley.protocol.words import JOURNAL, NOTES, VERDICTS
from shared.domain.kernel.actors import USER_PREFIX, author_of
from shared.domain.transcript.dialogue import question_id
from shared.journal.action_updates import action_updates, entry_fields, pluralize, update
from shared.journal.decisions import decisions
from shared.journal.notes import note
from shared.journal.phrases import (
    ACTION_TONES,
    VERDICT_TONES,
    confidence_text,
    numbered_title,
    state_label,
    waiting_text,
)
from shared.journal.summary import describe_answer

SURE_CONFIDENCE = 0.4  # answers with this confidence or more are shown as a success
MAX_PLACES = 1_000  # more than an event has actions


def entries(event: SessionEvent) -> tuple[j.EntryOrUpdate, ...]:
    """The journal's new entries and updates, in order: what a person decided comes before what the decision allows."""
    result: list[j.EntryOrUpdate] = []
    if say := getattr(event, "say", ""):
        result.append(j.ReplyEntry(**entry_fields(event, f"reply:{event.version}"), text=say))
    if line := note(event):
        result.append(line)
    result += [*decisions(event), *_content_entries(event), *action_updates(event)]
    if drops := getattr(event, "drops", ()):
        text = NOTES["dropped"].format(steps="; ".join(f"“{step}”" for step in drops))
        result.append(j.NoteEntry(**entry_fields(event, f"dropped:{event.version}"), tone="bad", text=text))
    for number, call in enumerate(event.usage):
        if call.action_id:
            tokens = call.prompt_tokens + call.completion_tokens
            key = f"tokens:{event.version}.{number}"
            result.append(j.TokensEntry(**entry_fields(event, key), action_id=call.action_id, tokens=tokens))
    return tuple(result)


def _content_entries(event: SessionEvent) -> Iterator[j.EntryOrUpdate]:  # noqa: C901, PLR0912  one case a fact
    """Entries about messages, plans, code, questions, turns and answers."""
    match event:
        case facts.MessageReceived():
            yield j.SaidEntry(
                **entry_fields(event, f"said:{event.version}"),
                text=event.text,
                intent=event.intent,
                label=JOURNAL.get(event.intent, ""),
                knowledge=tuple(item.name for item in event.knowledge),
            )
        case facts.RemarkAnswered():
            yield j.ReplyEntry(**entry_fields(event, f"reply:{event.version}"), text=event.text)
        case facts.PlanDrafted() | facts.PlanEdited():
            yield _plan(event)
        case facts.PlanApproved(turn=int()) | facts.TurnPlanned(plan_version=int()):
            yield from _approved_turn(event)
        case facts.CodeDrafted() | facts.CodeEdited():
            yield _code(event)
        case facts.CodeVerified():
            checks: list[JsonValue] = [item.model_dump(mode="json") for item in event.checks]
            yield update(f"code:{event.code_version}", checks=checks, tests=event.tests)
        case facts.QuestionAsked():
            together: tuple[facts.QuestionAsked | FurtherQuestion, ...] = (event, *event.further)
            for place, asked in enumerate(together):
                yield j.QuestionEntry(
                    **entry_fields(event, _question_key(event.version, place)),
                    question_id=question_id(event.question_id, place),
                    text=asked.text,
                    options=tuple(option.label for option in asked.options),
                    answer=None,
                )
        case facts.QuestionAnswered():
            if event.asked_version:
                for place, answer in enumerate((event.text, *event.more), event.place):
                    words, key = describe_answer(answer), _question_key(event.asked_version, place)
                    yield update(key, answer=words, answered_by=event.actor)
            elif event.kind != "uncertain":  # the publisher may not say which question it was
                yield j.SaidEntry(
                    **entry_fields(event, f"said:{event.version}"),
                    text=event.text,
                    intent="remark",
                    label="",
                    knowledge=(),
                )
        case facts.TurnPlanned() | facts.TurnRequested():
            yield _turn(event)
            yield from _actions(event, event.turn, event.actions)
        case facts.TurnChanged():
            yield from _changed_turn(event)
        case facts.TurnVerified():
            yield update(f"turn:{event.turn}", verdict=_verdict(event).model_dump(mode="json"))
        case facts.AnswerGiven():
            yield j.AnswerEntry(
                **entry_fields(event, f"answer:{event.version}"),
                text=event.text,
                confidence=event.confidence,
                confidence_text=confidence_text(event.confidence),
                tone="good" if event.confidence >= SURE_CONFIDENCE else "plain",
                evidence=event.evidence,
            )
        case facts.SessionFailed():
            yield j.FailureEntry(
                **entry_fields(event, f"failure:{event.version}"),
                title=JOURNAL["failed_while"].format(stage=event.phase),
                reason=event.reason,
                retryable=event.retryable,
                raw=event.model_reply,
            )


def _question_key(asked_version: int, place: int) -> str:
    """The key of the entry of one of the questions that were asked together."""
    return f"question:{asked_version}.{place}" if place else f"question:{asked_version}"


def _plan(event: facts.PlanDrafted | facts.PlanEdited) -> j.PlanEntry:
    """A plan's entry. An edit has no planned path: the path is the user's own."""
    if isinstance(event, facts.PlanDrafted):
        path = _path(event.path)
    else:
        nodes = tuple(step.tool for step in event.steps if step.tool and not step.id)
        path = PlannedPathView(nodes=nodes) if len(nodes) == len(event.steps) else None
    return j.PlanEntry(
        **entry_fields(event, f"plan:{event.version}") | {"by": author_of(event)},
        number=event.number,
        title=numbered_title("path" if path else "plan", event.number),
        summary=pluralize(len(event.steps), "step"),
        goal=event.goal,
        steps=event.steps,
        notes=event.notes,
        reason=event.reason if isinstance(event, facts.PlanDrafted) else "",
        path=path,
    )


def _code(event: facts.CodeDrafted | facts.CodeEdited) -> j.CodeEntry:
    return j.CodeEntry(
        **entry_fields(event, f"code:{event.version}") | {"by": author_of(event)},
        number=event.number,
        title=numbered_title("code", event.number),
        summary=pluralize(len(event.code.rstrip().splitlines()), "line"),
        code=event.code,
        explanation=event.explanation if isinstance(event, facts.CodeDrafted) else "",
        checks=None,
    )


def _path(path: PathPlan | None) -> PlannedPathView | None:
    return PlannedPathView.model_validate(path) if path else None


def _turn(event: facts.TurnPlanned | facts.TurnRequested) -> j.TurnEntry:
    fields = entry_fields(event, f"turn:{event.turn}") | {"by": author_of(event)}
    entry = j.TurnEntry(**fields, number=event.turn, sub_goal=event.sub_goal)
    if isinstance(event, facts.TurnRequested):
        return entry
    planned = {
        "sub_goals": event.sub_goals,
        "selected_tool": event.selected_tool,
        "required_skills": event.required_skills,
        "reasoning": event.reasoning,
        "final": event.final,
        "recalled": event.recalled,
        "path": _path(event.path),
    }
    return entry.model_copy(update=planned)


def _approved_turn(event: facts.PlanApproved | facts.TurnPlanned) -> Iterator[j.EntryOrUpdate]:
    """The turn that an approved plan starts; its goal is in the plan's entry."""
    turn, plan = event.turn or 0, f"plan:{event.plan_version}"
    yield j.TurnEntry(**entry_fields(event, f"turn:{turn}"), number=turn, sub_goal="", final=True, plan=plan)
    for entry in _actions(event, turn, tuple(spec for spec in event.actions if spec.id not in event.already_done)):
        by_plan = isinstance(event, facts.PlanApproved) and entry.approval is None
        approved = {"approved_by": event.actor, "approved_at": event.at}
        yield entry.model_copy(update=approved) if by_plan else entry


def _changed_turn(event: facts.TurnChanged) -> Iterator[j.EntryOrUpdate]:
    """A changed turn: dropped actions, values that the user set, and the actions that follow."""
    for dropped in event.dropped:
        yield update(f"action:{dropped}", state="dropped")
    if event.override_id:
        about = JOURNAL["set_by_person"].format(names=", ".join(event.overrides))
        first = event.actions[0].tool if event.actions else ""
        spec = ActionSpec(id=event.override_id, tool=f"{first.partition('.')[0]}.person", description=about[:500])
        yield _action(event, event.turn, spec, 0).model_copy(
            update={
                "state": "finished",
                "word": state_label("finished"),
                "tone": ACTION_TONES["finished"],
                "gist": about,
                "result": event.overrides,
                "finished_at": event.at,
                "decided_by": event.actor,
            }
        )
    for entry in _actions(event, event.turn, event.actions):
        same = entry.action_id in event.unchanged
        yield update(entry.key, place=entry.place) if same else entry
    text = event.reason or ("changed the rest of the path" if event.actor.startswith(USER_PREFIX) else "")
    yield j.PathChangeEntry(**entry_fields(event, f"path_change:{event.version}"), turn=event.turn, text=text)


def _actions(event: SessionEvent, turn: int, specs: tuple[ActionSpec, ...]) -> Iterator[j.ActionEntry]:
    for place, spec in enumerate(specs, 1):
        yield _action(event, turn, spec, place)


def _action(event: SessionEvent, turn: int, spec: ActionSpec, place: int) -> j.ActionEntry:
    """An action's entry; one that the domain ruled out is skipped or denied from the start."""
    ruled_out: dict[str, j.ActionState] = {"skip": "skipped", "deny": "denied"}
    state = ruled_out.get(spec.decision, "planned")
    return j.ActionEntry(
        **entry_fields(event, f"action:{spec.id}"),
        action_id=spec.id,
        turn=turn,
        tool=spec.tool,
        place=event.version * MAX_PLACES + place,
        description=spec.description,
        sub_goal=spec.sub_goal,
        arguments=spec.arguments,
        effect=spec.effect,
        depends_on=spec.depends_on,
        approval=spec.approval_reason,
        repairs=spec.repairs,
        ruling=spec.decision,
        why=spec.decision_reason,
        state=state,
        word=state_label(state),
        tone=ACTION_TONES[state],
        gist=waiting_text(spec.approval_reason) if state == "planned" else spec.decision_reason or state_label(state),
        error=spec.decision_reason,
        artefact=None,
        seconds=0,
        decided_by="",
    )


def _verdict(event: facts.TurnVerified) -> j.VerdictLine:
    ended = event.next_action == "complete" and event.status in ("failure", "not_shown", "missing_here")
    return j.VerdictLine(
        status=event.status,
        word=VERDICTS[event.status],
        tone=VERDICT_TONES[event.status],
        text=event.reasoning,
        source=VERDICTS["by_rule" if event.rule else "by_model"],
        next=VERDICTS["ended" if ended else event.next_action],
        execution_analysis=event.execution_analysis,
        memory_analysis=event.memory_analysis,
        sub_goals=tuple(
            j.SubGoalLine(
                sub_goal=verdict.sub_goal,
                word=VERDICTS[verdict.status],
                tone=VERDICT_TONES[verdict.status],
                text=verdict.reasoning,
            )
            for verdict in event.sub_goals
        ),
    )
