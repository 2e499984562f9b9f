"""Renders a turn: its plan, actions that wait for approval, their outcomes, the verdict, the answer, and an offer."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import assert_never

from pydantic import JsonValue
from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from cli.chat.panels import PythonSource, TitledPanel, inset
from cli.chat.state import ChatView
from cli.talk.journal_lines import TONES, journal_line
from cli.text import short, visible
from parley.events.offers import OfferedCode, OfferedDraft, OfferedPlan, OfferedTurn
from parley.events.values import ActionSpec
from parley.protocol import journal as j
from parley.protocol.screen import ActionSection, OfferSection
from parley.protocol.tools import Change, Preview
from parley.protocol.words import JOURNAL, REVIEW
from shared.domain.plan.text import plan_text
from shared.domain.rules.user_commands import RUN_CODE
from shared.domain.turn.flow_paths import split_tool_name
from shared.journal.phrases import waiting_text

MAX_VALUE, MAX_TEXT = 120, 300  # characters shown of a value and of a text


def turn_summary(entry: j.TurnEntry, actions: Sequence[j.ActionEntry], title: str) -> RenderableType:
    """A turn with its goal and actions."""
    parts: list[RenderableType] = [Text.assemble((f"▸ Turn {entry.number}: ", "bold cyan"), (visible(title), "bold"))]
    if entry.reasoning:
        parts.append(inset(Text(short(entry.reasoning, MAX_TEXT), style="dim")))
    if len(entry.sub_goals) > 1:
        goals = " › ".join(short(goal, 60) for goal in entry.sub_goals)
        parts.append(inset(Text(f"way: {goals}", style="dim")))
    if entry.recalled:
        notes = "; ".join(short(item.request, 50) for item in entry.recalled)
        count = len(entry.recalled)
        recalled = JOURNAL["recalled_one"] if count == 1 else JOURNAL["recalled"].format(count=count)
        parts.append(inset(Text(f"{recalled}: {notes}", style="dim")))
    parts += [inset(_planned_call(action)) for action in actions if action.tool != RUN_CODE]
    if not actions:
        parts.append(inset(Text(JOURNAL["answer_follows"], style="dim")))
    return Group(*parts)


def _planned_call(entry: j.ActionEntry) -> RenderableType:
    waits_only = entry.state == "planned" and entry.approval is None
    return _call(entry.action_id, entry, "" if waits_only else entry.gist)


def _offered_call(spec: ActionSpec) -> RenderableType:
    needs_approval = waiting_text(spec.approval_reason) if spec.approval_reason else ""
    return _call(spec.id, spec, spec.decision_reason or needs_approval)


def _call(action_id: str, call: j.ActionEntry | ActionSpec, hold: str) -> RenderableType:
    """A planned call with its notes, and what was corrected in it. `hold`: why it does not run by itself."""
    notes: list[str] = [call.effect] if call.effect != "read" else []
    notes += [f"after {', '.join(call.depends_on)}"] if call.depends_on else []
    notes += [f"for “{short(call.sub_goal, 60)}”"] if call.sub_goal else []
    notes += [hold] if hold else []
    line = Text.assemble(
        (f"{visible(action_id)} ", "bold"),
        f"{visible(call.tool)}({_arguments(call.arguments)})",
        (f" · {visible(' · '.join(notes))}" if notes else "", "yellow"),
    )
    repairs = [Text(f"    {_repaired(repair)}", style="dim") for repair in call.repairs]
    return Group(line, *repairs)


def _repaired(repair: str) -> str:
    return REVIEW["repaired"].format(what=short(repair, MAX_VALUE))


def _arguments(arguments: Mapping[str, JsonValue]) -> str:
    return ", ".join(f"{visible(name)}={_value(value)}" for name, value in arguments.items())


def _value(value: JsonValue) -> str:
    return short(json.dumps(value, ensure_ascii=False), MAX_VALUE)


# --- approval


def action_card(action: ActionSection, preview: Preview | None) -> RenderableType:
    """An action that waits for approval, with what it would change."""
    lines = [Text(visible(action.text))] if action.text else []
    lines += [_argument(name, value) for name, value in action.arguments.items()]
    lines += [Text(_repaired(repair), style="dim") for repair in action.repairs]
    if action.approval:
        lines.append(Text(visible(waiting_text(action.approval)), style="dim"))
    lines += _changes(preview) if action.effect != "read" else ()
    title = f"{visible(action.action_id)} {visible(action.tool)} · {action.effect}"
    return TitledPanel(Group(*lines), title, "red" if action.effect == "irreversible" else "yellow")


def _argument(name: str, value: JsonValue) -> Text:
    """An argument on one line, shortened; SQL in full, because the user approves it."""
    if name == "sql" and isinstance(value, str):
        return Text(visible(value), style="cyan")
    return Text.assemble((f"{visible(name)}: ", "cyan"), _value(value))


def _changes(preview: Preview | None) -> Sequence[Text]:
    if preview is None:
        return (Text(REVIEW["preview_unavailable"], style="dim"),)
    if preview.error:
        return (Text(REVIEW["preview_error"].format(why=short(preview.error, MAX_TEXT)), style="red"),)
    if not preview.known:
        return (Text(REVIEW["preview_unknown"], style="dim"),)
    return [_change(change) for change in preview.changes] or (Text(REVIEW["preview_none"], style="dim"),)


def _change(change: Change) -> Text:
    return Text.assemble(
        (f"{visible(change.label or change.path)}: ", "bold"),
        (REVIEW["empty"] if change.before is None else _value(change.before), "red"),
        " → ",
        (REVIEW["empty"] if change.after is None else _value(change.after), "green"),
    )


# --- outcomes


def action_outcome(action: j.ActionEntry) -> RenderableType:
    """A program's output, or the journal's line about the call."""
    result = action.result if isinstance(action.result, dict) else {}
    if {"stdout", "stderr"} & result.keys():
        return _program(action, result)
    lines = [journal_line(action, length=MAX_TEXT)]
    if action.size is not None:
        lines.append(Text(f"    {JOURNAL['beginning'].format(size=f'{action.size:,} bytes')}", style="dim"))
    return Group(*lines)


def _program(action: j.ActionEntry, result: Mapping[str, JsonValue]) -> RenderableType:
    parts: list[RenderableType] = []
    for name, style in (("stdout", ""), ("stderr", "red")):
        if isinstance(text := result.get(name), str) and text.strip():
            parts.append(Text(visible(text.rstrip()), style=style))
    if action.error:
        parts.append(Text(visible(action.error), style="red"))
    ok = action.state == "finished"
    title = f"{action.action_id} {'ran' if ok else 'failed'} · {action.seconds:.1f} s"
    return TitledPanel(Group(*parts or [Text(JOURNAL["no_output"], style="dim")]), title, "green" if ok else "red")


def verdict_lines(line: j.VerdictLine) -> RenderableType:
    """The verdict and its source, then those on sub-goals if there are several."""
    mark, style = TONES[line.tone]
    verdict_source = f" ({visible(line.source)}) "
    headline = Text.assemble(
        (f"{mark} {line.word}, {line.next}", style), (verdict_source, "dim"), short(line.text, MAX_TEXT)
    )
    return Group(headline, *(inset(_sub_goal(item)) for item in line.sub_goals))


def _sub_goal(line: j.SubGoalLine) -> Text:
    mark, style = TONES[line.tone]
    goal = short(line.sub_goal, MAX_VALUE)
    return Text.assemble((f"{mark} {goal}: {line.word} ", style), (short(line.text, MAX_TEXT), "dim"))


def answer_panel(entry: j.AnswerEntry, tools: Sequence[str], *, walked: bool) -> RenderableType:
    """The answer, its confidence and its tools. The answer of a path has no confidence."""
    tool_names = ", ".join(visible(split_tool_name(tool)[1]).replace("_", " ") for tool in tools)
    source = [JOURNAL["answered_from"].format(tools=tool_names)] if tool_names else []
    notes = Text(
        " · ".join([*source, "/path"] if walked else [*filter(None, (entry.confidence_text,)), *source]), style="dim"
    )
    return TitledPanel(Group(Markdown(visible(entry.text), hyperlinks=False), notes), "Answer", "green")


def render_offer(offer: OfferSection, view: ChatView) -> RenderableType:
    title = REVIEW[f"offer_{offer.draft.type}"]
    body = Group(*_offer_body(offer.draft, view), Text(REVIEW["offer_holds"], style="dim"))
    return TitledPanel(body, title, "yellow")


def _offer_body(draft: OfferedDraft, view: ChatView) -> Iterator[RenderableType]:
    match draft:
        case OfferedPlan():
            yield Markdown(visible(plan_text(draft.goal, draft.steps, draft.notes)), hyperlinks=False)
            yield from _removed_steps(draft, view)
        case OfferedCode():
            if draft.explanation:
                yield Markdown(visible(draft.explanation), hyperlinks=False)
            yield PythonSource(draft.code.rstrip())
        case OfferedTurn():
            yield Text(visible(draft.sub_goal), style="bold")
            yield from map(_offered_call, draft.actions)
        case _:
            assert_never(draft)


def _removed_steps(draft: OfferedPlan, view: ChatView) -> Iterator[RenderableType]:
    """The steps of the plan that is there which its revision leaves out."""
    steps = view.plan.steps if view.plan else ()
    kept = {step.id for step in draft.steps if step.id}
    if not kept.intersection(step.id for step in steps):
        return  # another plan, not a revision
    for step in steps:
        if step.id not in kept:
            yield Text(f"– {visible(step.text)} ({REVIEW['step_removed']})", style="red")
