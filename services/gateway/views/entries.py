"""What an event adds to the journal, in words. Pure of the event alone: no session is looked at.

So a journal that is read later, in parts or from another gateway is the one that was told live.
"""

from collections.abc import Iterator

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, PathPlan
from parley.protocol import journal as j
from parley.protocol.views import PlannedPathView
from parley.protocol.words import JOURNAL, VERDICTS
from services.gateway.views.gist import chosen
from services.gateway.views.notes import note
from services.gateway.views.outcomes import base, counted, outcomes, update
from services.gateway.views.phrases import ACTION_TONES, VERDICT_TONES, confidence_text, title, waiting, word_of

SURE = 0.4  # from this confidence on an answer is shown as a success
PLACES = 1_000  # more than an event has actions


def entries(event: SessionEvent) -> tuple[j.EntryOrUpdate, ...]:
    """The journal's new entries and updates, in order."""
    told: list[j.EntryOrUpdate] = [*_made(event), *outcomes(event)]
    if text := note(event):
        told.append(text)
    for number, call in enumerate(event.usage):
        if call.action_id:
            tokens = call.prompt_tokens + call.completion_tokens
            key = f"tokens:{event.version}.{number}"
            told.append(j.TokensEntry(**base(event, key), action_id=call.action_id, tokens=tokens))
    return tuple(told)


def _made(event: SessionEvent) -> Iterator[j.EntryOrUpdate]:  # noqa: C901, PLR0912  one case a fact
    """What was said, planned, written, asked and answered."""
    match event:
        case facts.MessageReceived():
            yield j.SaidEntry(
                **base(event, f"said:{event.version}"),
                text=event.text,
                intent=event.intent,
                label=JOURNAL.get(event.intent, ""),
                knowledge=tuple(one.name for one in event.knowledge),
            )
        case facts.RemarkAnswered():
            yield j.ReplyEntry(**base(event, f"reply:{event.version}"), text=event.text)
        case facts.PlanDrafted() | facts.PlanEdited():
            yield _plan(event)
        case facts.PlanApproved(turn=int()) | facts.TurnPlanned(plan_version=int()):
            yield from _approved_turn(event)
        case facts.CodeDrafted() | facts.CodeEdited():
            yield _code(event)
        case facts.CodeVerified():
            yield update(f"code:{event.code_version}", checks=[one.model_dump(mode="json") for one in event.checks])
        case facts.QuestionAsked():
            yield j.QuestionEntry(
                **base(event, f"question:{event.version}"),
                question_id=event.question_id,
                text=event.text,
                options=tuple(option.label for option in event.options),
                answer=None,
            )
        case facts.QuestionAnswered():
            if event.asked_version:
                yield update(f"question:{event.asked_version}", answer=chosen(event.text))
            elif event.kind != "uncertain":  # an older release did not say which question it was
                yield j.SaidEntry(
                    **base(event, f"said:{event.version}"), text=event.text, intent="remark", label="", knowledge=()
                )
        case facts.TurnPlanned() | facts.TurnRequested():
            yield _turn(event)
            yield from _actions(event, event.turn, event.actions)
        case facts.TurnChanged():
            yield from _rest(event)
        case facts.TurnVerified():
            yield update(f"turn:{event.turn}", verdict=_verdict(event).model_dump(mode="json"))
        case facts.AnswerGiven():
            yield j.AnswerEntry(
                **base(event, f"answer:{event.version}"),
                text=event.text,
                confidence=event.confidence,
                confidence_text=confidence_text(event.confidence),
                tone="good" if event.confidence >= SURE else "plain",
                evidence=event.evidence,
            )
        case facts.SessionFailed():
            yield j.FailureEntry(
                **base(event, f"failure:{event.version}"),
                title=JOURNAL["failed_while"].format(stage=event.phase),
                reason=event.reason,
                retryable=event.retryable,
            )


def _plan(event: facts.PlanDrafted | facts.PlanEdited) -> j.PlanEntry:
    """An edit says no more which path was planned: it is the person's own now."""
    if isinstance(event, facts.PlanDrafted):
        path = _path(event.path)
    else:
        nodes = tuple(step.tool for step in event.steps if step.tool and not step.id)
        path = PlannedPathView(nodes=nodes) if len(nodes) == len(event.steps) else None
    return j.PlanEntry(
        **base(event, f"plan:{event.version}"),
        number=event.number,
        title=title("path" if path else "plan", event.number),
        summary=counted(len(event.steps), "step"),
        goal=event.goal,
        path=path,
    )


def _code(event: facts.CodeDrafted | facts.CodeEdited) -> j.CodeEntry:
    return j.CodeEntry(
        **base(event, f"code:{event.version}"),
        number=event.number,
        title=title("code", event.number),
        summary=counted(len(event.code.rstrip().splitlines()), "line"),
        checks=None,
    )


def _path(path: PathPlan | None) -> PlannedPathView | None:
    return PlannedPathView.model_validate(path) if path else None


def _turn(event: facts.TurnPlanned | facts.TurnRequested) -> j.TurnEntry:
    entry = j.TurnEntry(**base(event, f"turn:{event.turn}"), number=event.turn, sub_goal=event.sub_goal)
    if isinstance(event, facts.TurnRequested):
        return entry
    planned = {
        "selected_tool": event.selected_tool,
        "required_skills": event.required_skills,
        "reasoning": event.reasoning,
        "final": event.final,
        "recalled": event.recalled,
        "path": _path(event.path),
    }
    return entry.model_copy(update=planned)


def _approved_turn(event: facts.PlanApproved | facts.TurnPlanned) -> Iterator[j.EntryOrUpdate]:
    """The turn that an approved plan begins: what it is for is in the plan's own entry."""
    turn, plan = event.turn or 0, f"plan:{event.plan_version}"
    yield j.TurnEntry(**base(event, f"turn:{turn}"), number=turn, sub_goal="", final=True, plan=plan)
    yield from _actions(event, turn, tuple(spec for spec in event.actions if spec.id not in event.already_done))


def _rest(event: facts.TurnChanged) -> Iterator[j.EntryOrUpdate]:
    """Another rest of a turn: what it drops, what the person set, and the actions that come now."""
    for dropped in event.dropped:
        yield update(f"action:{dropped}", state="dropped")
    if event.override_id:
        about = JOURNAL["set_by_person"].format(names=", ".join(event.overrides))
        first = event.actions[0].tool if event.actions else ""
        spec = ActionSpec(id=event.override_id, tool=f"{first.partition('.')[0]}.person", description=about[:500])
        yield _action(event, event.turn, spec, 0).model_copy(
            update={
                "state": "finished",
                "word": word_of("finished"),
                "tone": ACTION_TONES["finished"],
                "gist": about,
                "result_in": event.version,
                "decided_by": event.actor,
            }
        )
    for entry in _actions(event, event.turn, event.actions):
        same = entry.action_id in event.unchanged
        yield update(entry.key, place=entry.place, spec_in=entry.spec_in) if same else entry
    text = event.reason or ("changed the rest of the path" if event.actor.startswith("user:") else "")
    yield j.PathChangeEntry(**base(event, f"path_change:{event.version}"), turn=event.turn, text=text)


def _actions(event: SessionEvent, turn: int, specs: tuple[ActionSpec, ...]) -> Iterator[j.ActionEntry]:
    for place, spec in enumerate(specs, 1):
        yield _action(event, turn, spec, place)


def _action(event: SessionEvent, turn: int, spec: ActionSpec, place: int) -> j.ActionEntry:
    """What the domain ruled out is decided from the beginning."""
    ruled_out: dict[str, j.ActionState] = {"skip": "skipped", "deny": "denied"}
    state = ruled_out.get(spec.decision, "planned")
    return j.ActionEntry(
        **base(event, f"action:{spec.id}"),
        action_id=spec.id,
        turn=turn,
        tool=spec.tool,
        place=event.version * PLACES + place,
        spec_in=event.version,
        state=state,
        word=word_of(state),
        tone=ACTION_TONES[state],
        gist=waiting(spec.approval_reason) if state == "planned" else spec.decision_reason or word_of(state),
        error=spec.decision_reason,
        result_in=None,
        seconds=0,
        decided_by="",
        artefact=None,
        sub_goal=spec.sub_goal,
    )


def _verdict(event: facts.TurnVerified) -> j.VerdictLine:
    ended = event.next_action == "complete" and event.status == "failure"
    return j.VerdictLine(
        version=event.version,
        status=event.status,
        word=VERDICTS[event.status],
        tone=VERDICT_TONES[event.status],
        text=event.reasoning,
        source=VERDICTS["by_rule" if event.rule else "by_model"],
        next=VERDICTS["ended" if ended else event.next_action],
        sub_goals=tuple(
            j.SubGoalLine(
                sub_goal=one.sub_goal, word=VERDICTS[one.status], tone=VERDICT_TONES[one.status], text=one.reasoning
            )
            for one in event.sub_goals
        ),
    )
