"""How the journal looks: an event as it passes by, and an entry in one line. The words are Parley's."""

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from cli.chat import flow, trace
from cli.chat.state import View
from cli.chat.text import short
from cli.visible import visible
from parley.events import facts
from parley.protocol import journal as j
from parley.protocol.screen import ScreenEvent
from parley.protocol.views import PlannedPathView
from parley.protocol.words import JOURNAL, REVIEW, TERMINAL

WIDTH = 160  # characters of a line
_STYLES: Mapping[j.Tone, str] = {"good": "green", "bad": "red", "wait": "yellow", "work": "cyan", "plain": "dim"}
_MARKS: Mapping[j.Tone, str] = {"good": "✓", "bad": "✗", "wait": "?", "plain": "–"}
_QUIET: tuple[j.ActionState, ...] = ("planned", "started", "asked", "dropped")  # other lines tell these


def happened(message: ScreenEvent, view: View, *, mine: bool) -> RenderableType | None:
    """What an event adds, as it passes by; None for nothing. What I typed myself is on the screen already."""
    parts = []
    for entry in message.entries:
        if isinstance(entry, j.EntryUpdate):
            parts.append(_changed(entry, message, view, mine=mine))
        else:
            parts.append(_added(entry, message, view, mine=mine))
    seen = [part for part in parts if part is not None]
    return Group(*seen) if seen else None


def _added(entry: j.AnyEntry, message: ScreenEvent, view: View, *, mine: bool) -> RenderableType | None:  # noqa: PLR0911  one line a kind
    match entry:
        case j.SaidEntry(intent="guidance") if mine:
            return Text(REVIEW["unread"], style="dim")
        case j.SaidEntry() if mine:
            return None
        case j.ActionEntry() | j.QuestionEntry() | j.TokensEntry():
            return None  # told by their turn, by what is asked, and by the totals
        case j.PlanEntry() | j.CodeEntry() if view.asked and view.asked.version == entry.version:
            return None
        case j.TurnEntry():
            return _turn(entry, message, view)
        case j.PathChangeEntry():
            return _path_change(entry, message, view) if entry.text else None
        case j.AnswerEntry():
            tools = [one.tool for name in entry.evidence if isinstance(one := _action(view, name), j.ActionEntry)]
            return trace.answer(entry, tools, walked=view.stands is not None and view.stands.path_standing is not None)
        case j.FailureEntry():
            return _failure(entry, message)
        case j.ReplyEntry():
            return Markdown(visible(entry.text), hyperlinks=False)
        case _:
            return line(entry, view)


def _turn(entry: j.TurnEntry, message: ScreenEvent, view: View) -> RenderableType | None:
    """A path of an approved plan was shown before it was approved."""
    event = message.event
    if path := _path(view, entry):
        return None if entry.plan else flow.planned(entry, path)
    plan = view.screen.entry(entry.plan) if entry.plan else None
    title = plan.title if isinstance(plan, j.PlanEntry) else entry.sub_goal
    return trace.turn(entry, event, title) if isinstance(event, trace.Turn) else None


def _path(view: View, turn: j.AnyEntry | None) -> PlannedPathView | None:
    """The path that this turn walks."""
    if not isinstance(turn, j.TurnEntry):
        return None
    plan = view.screen.entry(turn.plan) if turn.plan else None
    return plan.path if isinstance(plan, j.PlanEntry) else turn.path


def _path_change(entry: j.PathChangeEntry, message: ScreenEvent, view: View) -> RenderableType:
    override = message.event.override_id if isinstance(message.event, facts.TurnChanged) else None
    by_hand = _action(view, override) if override else None
    told = [Text(f"  {visible(by_hand.gist)}", style="dim")] if isinstance(by_hand, j.ActionEntry) else []
    return Group(line(entry, view), *told, Padding(flow.line(view.actions), (0, 0, 0, 2), expand=False))


def _failure(entry: j.FailureEntry, message: ScreenEvent) -> RenderableType:
    lines = [Text.assemble((f"✗ {visible(entry.title)}: ", "bold red"), visible(entry.reason))]
    if raw := message.event.model_reply if isinstance(message.event, facts.SessionFailed) else "":
        lines.append(Text(TERMINAL["raw_reply"].format(text=short(raw, 300)), style="dim"))
    return Group(*lines)


def _changed(update: j.EntryUpdate, message: ScreenEvent, view: View, *, mine: bool) -> RenderableType | None:
    match view.screen.entry(update.key):
        case j.ActionEntry() as action if "state" in update.set:
            return _over(action, message, view, mine=mine)
        case j.TurnEntry(verdict=j.VerdictLine() as verdict) if "verdict" in update.set:
            return trace.verdict(verdict)
        case j.QuestionEntry(answer=str() as answer) if not mine:
            return _line(message.event.actor, JOURNAL["answered"].format(text=short(answer, WIDTH)), view)
        case _:
            return None


def _over(action: j.ActionEntry, message: ScreenEvent, view: View, *, mine: bool) -> RenderableType | None:
    """What came of an action: its result, or why there is none."""
    outcomes = message.event.outcomes if isinstance(message.event, facts.ActionsFinished) else ()
    outcome = next((one for one in outcomes if one.action_id == action.action_id), None)
    if outcome and _path(view, view.screen.entry(f"turn:{action.turn}")):
        return flow.outcome(action.tool, _tokens(view, action), outcome)
    if outcome:
        return trace.outcome(outcome, action.tool, action.gist)
    if action.state in _QUIET or (mine and action.state == "approved"):
        return None
    return line(action, view)


def _tokens(view: View, action: j.ActionEntry) -> int:
    return sum(
        entry["tokens"]
        for entry in view.screen.journal.values()
        if entry["kind"] == "tokens" and entry["action_id"] == action.action_id
    )


def _action(view: View, action_id: str) -> j.AnyEntry | None:
    return view.screen.entry(f"action:{action_id}")


# --- in one line


def lines(view: View) -> list[Text]:
    """The whole journal, a line an entry; with what became of turns and actions."""
    shown = [entry for entry in view.screen.entries() if not _left_out(entry)]
    return [Text.assemble((f"{entry.version:>4} ", "dim"), line(entry, view)) for entry in shown]


def _left_out(entry: j.AnyEntry) -> bool:
    silent = isinstance(entry, j.PathChangeEntry) and not entry.text
    return silent or isinstance(entry, j.TokensEntry) or (isinstance(entry, j.ActionEntry) and entry.state == "dropped")


def line(entry: j.AnyEntry, view: View) -> Text:  # noqa: PLR0911  one line a kind
    match entry:
        case j.SaidEntry():
            return _line(entry.by, f"{short(entry.text, WIDTH)}{f' ({entry.label})' if entry.label else ''}", view)
        case j.PlanEntry() | j.CodeEntry():
            what = f"{entry.title} ({entry.summary})"
            return _line(entry.by, JOURNAL["edited" if _person(entry.by) else "wrote"].format(what=what), view)
        case j.QuestionEntry():
            answered = f" → {short(entry.answer)}" if entry.answer else ""
            asked = JOURNAL["asked"].format(by="Parley" if _person(entry.by) else name(entry.by, view))
            return _line("", f"{asked}: {short(entry.text, WIDTH)}{answered}", view)
        case j.TurnEntry():
            verdict = f" · {entry.verdict.word}, {entry.verdict.next}" if entry.verdict else ""
            return _line("", f"Turn {entry.number}: {short(entry.sub_goal)}{verdict}", view)
        case j.ActionEntry():
            said = entry.state == "finished" or entry.word in entry.gist.casefold()
            gist = entry.gist if said else f"{entry.word}: {entry.gist}"
            mark, style = _MARKS.get(entry.tone, "·"), _STYLES[entry.tone]
            head = (f"{mark} {visible(entry.action_id)} ", style)
            return Text.assemble(head, visible(entry.tool), (f" · {short(gist, WIDTH)}", "dim"))
        case j.FailureEntry():
            return _line("", f"{entry.title}: {short(entry.reason, WIDTH)}", view, "red")
        case j.NoteEntry():
            return _line(entry.by, short(entry.text, WIDTH), view, _STYLES[entry.tone])
        case j.TokensEntry():
            return _line("", f"{entry.tokens:,} tokens", view)
        case _:
            return _line(entry.by, short(entry.text, WIDTH), view)


def _line(by: str, text: str, view: View, style: str = "dim") -> Text:
    who = (f"{visible(name(by, view))} ", "bold" if _person(by) else "cyan") if by else ""
    return Text.assemble(("· ", "dim"), who, (visible(text), style))


def _person(by: str) -> bool:
    return by.startswith("user:")


def name(by: str, view: View) -> str:
    """Who did it: “You” for who sits here."""
    me = view.greeting.user if view.greeting else ""
    return JOURNAL["you"] if by == f"user:{me}" else by.removeprefix("user:").replace("_", " ")
