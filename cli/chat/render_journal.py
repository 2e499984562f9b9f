"""Renders the journal: an event as it arrives, and an entry on one line. The texts come from Parley."""

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.text import Text

from cli.chat import render_flow, render_turn
from cli.chat.panels import inset
from cli.chat.state import ChatView
from cli.talk.journal_lines import actor_line, journal_line, visible_entries
from cli.text import short, visible
from parley.protocol import journal as j
from parley.protocol.screen import ScreenEvent
from parley.protocol.views import PlannedPathView
from parley.protocol.words import REVIEW, TERMINAL
from shared.journal.lines import entry_line, update_line

_QUIET: tuple[j.ActionState, ...] = ("planned", "started", "asked", "dropped")  # other lines show these


def render_event(message: ScreenEvent, view: ChatView, *, mine: bool) -> RenderableType | None:
    """The entries that an event adds or changes; None if there are none. `mine`: this client sent the message."""
    parts = (
        _render_changed(entry, view, mine=mine)
        if isinstance(entry, j.EntryUpdate)
        else _render_added(entry, message, view, mine=mine)
        for entry in message.entries
    )
    rendered = [part for part in parts if part is not None]
    return Group(*rendered) if rendered else None


def _render_added(entry: j.AnyEntry, message: ScreenEvent, view: ChatView, *, mine: bool) -> RenderableType | None:  # noqa: PLR0911  one case per kind
    match entry:
        case j.SaidEntry() if mine:
            is_unread = entry.intent == "guidance" and not view.is_replying
            return Text(REVIEW["unread"], style="dim") if is_unread else None
        case j.ActionEntry() | j.QuestionEntry():
            return None  # shown by their turn, and by the request
        case j.PlanEntry() | j.CodeEntry() if view.gateway_request and view.gateway_request.version == entry.version:
            return None
        case j.TurnEntry():
            return _turn(entry, message, view)
        case j.PathChangeEntry(text=str() as text) if text:
            return _path_change(entry, message, view)
        case j.AnswerEntry():
            return _answer(entry, view)
        case j.FailureEntry():
            return _failure(entry)
        case j.ReplyEntry():
            return Markdown(visible(entry.text), hyperlinks=False)
        case _:
            return _line(entry, view) if entry_line(entry) else None


def _turn(entry: j.TurnEntry, message: ScreenEvent, view: ChatView) -> RenderableType | None:
    """A turn; None for the path of an approved plan, which was shown for approval."""
    if path := _path(view, entry):
        return None if entry.plan else render_flow.planned_path(entry, path)
    plan = view.screen.entry(entry.plan) if entry.plan else None
    title = plan.title if isinstance(plan, j.PlanEntry) else entry.sub_goal
    return render_turn.turn_summary(entry, _added_actions(message), title)


def _added_actions(message: ScreenEvent) -> list[j.ActionEntry]:
    return [entry for entry in message.entries if isinstance(entry, j.ActionEntry)]


def _path(view: ChatView, turn: j.AnyEntry | None) -> PlannedPathView | None:
    """The path of this turn."""
    if not isinstance(turn, j.TurnEntry):
        return None
    plan = view.screen.entry(turn.plan) if turn.plan else None
    return plan.path if isinstance(plan, j.PlanEntry) else turn.path


def _path_change(entry: j.PathChangeEntry, message: ScreenEvent, view: ChatView) -> RenderableType:
    values_set = [action.gist for action in _added_actions(message) if action.state == "finished"]
    return Group(
        _line(entry, view),
        *(Text(f"  {visible(gist)}", style="dim") for gist in values_set),
        inset(render_flow.path_line(view.actions)),
    )


def _answer(entry: j.AnswerEntry, view: ChatView) -> RenderableType:
    calls = (view.screen.entry(f"action:{name}") for name in entry.evidence)
    tools = [call.tool for call in calls if isinstance(call, j.ActionEntry)]
    walked = view.sections is not None and view.sections.path_standing is not None
    return render_turn.answer_panel(entry, tools, walked=walked)


def _failure(entry: j.FailureEntry) -> RenderableType:
    lines = [Text.assemble((f"✗ {visible(entry.title)}: ", "bold red"), visible(entry.reason))]
    if entry.raw:
        lines.append(Text(TERMINAL["raw_reply"].format(text=short(entry.raw, 300)), style="dim"))
    return Group(*lines)


def _render_changed(update: j.EntryUpdate, view: ChatView, *, mine: bool) -> RenderableType | None:
    match view.screen.entry(update.key):
        case j.ActionEntry() as action if "state" in update.set:
            if "seconds" in update.set:  # a call has ended
                return _render_outcome(action, view)
            is_shown = action.state in _QUIET or (mine and action.state == "approved")
            return None if is_shown else _line(action, view)
        case j.TurnEntry(verdict=j.VerdictLine() as verdict) if "verdict" in update.set:
            return render_turn.verdict_lines(verdict)
        case j.QuestionEntry(answer=str(), answered_by=by) if not mine:
            return actor_line(by, update_line(update), _me(view))
        case _:
            return None


def _render_outcome(action: j.ActionEntry, view: ChatView) -> RenderableType:
    if _path(view, view.screen.entry(f"turn:{action.turn}")):
        return render_flow.node_outcome(action, _tokens(view, action))
    return render_turn.action_outcome(action)


def _tokens(view: ChatView, action: j.ActionEntry) -> int:
    return sum(
        entry["tokens"]
        for entry in view.screen.journal.values()
        if entry["kind"] == "tokens" and entry["action_id"] == action.action_id
    )


def journal_lines(view: ChatView) -> list[Text]:
    """The whole journal, one line per entry, with the state of turns and actions."""
    return [
        Text.assemble((f"{entry.version:>4} ", "dim"), _line(entry, view))
        for entry in visible_entries(view.screen.entries())
    ]


def _line(entry: j.AnyEntry, view: ChatView) -> Text:
    return journal_line(entry, _me(view))


def _me(view: ChatView) -> str:
    return view.greeting.user if view.greeting else ""
