"""How things look. Everything that others wrote goes through `visible` first."""

from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cli.chat import flow, trace
from cli.chat.choices import choices, hint
from cli.chat.forms import tables
from cli.chat.frames import Framed, python
from cli.chat.gist import gist
from cli.chat.paths import walk
from cli.chat.slash import COMMANDS
from cli.chat.state import Ask, Code, Draft, Plan, View
from cli.chat.text import short
from cli.visible import visible
from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec
from parley.protocol import server as s
from parley.protocol.tools import Preview
from parley.protocol.words import DRAFTS, JOURNAL, PHASES, TERMINAL, WELCOME
from shared.domain.people import RUN_CODE
from shared.domain.waves import find

_DOING: Mapping[str, str] = {
    "planner": PHASES["planning"],
    "generator": PHASES["coding"],
    "verifier": PHASES["verifying"],
    "executor": PHASES["executing"],
}
_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
# Told by the message that follows them, or by none.
_QUIET = (
    facts.RemarkAnswered,
    facts.AnswerJudged,
    facts.UsageRecorded,
    facts.ActionsStarted,
    facts.ApprovalGiven,
    facts.QuestionAsked,
    facts.SessionFailed,
    facts.SessionStopped,
    facts.SessionCompleted,
)


def greeting(message: s.Greeting) -> RenderableType:
    """Who is there, and with which model; a banner while it is the rehearsal model."""
    lines: list[RenderableType] = [Text(visible(message.message))]
    if message.rehearsal:
        words = f"{WELCOME['demo']} {TERMINAL['demo_how']}"
        lines.append(Framed(Text(words), TERMINAL["demo_title"], "yellow"))
    else:
        lines.append(Text(TERMINAL["model"].format(name=visible(message.model)), style="dim"))
    return Group(*lines)


def plan(item: Plan) -> RenderableType:
    return Framed(Markdown(visible(item.text), hyperlinks=False), JOURNAL["plan"].format(number=item.number), "cyan")


def code(item: Code) -> RenderableType:
    """A rule above and below instead of a frame, so that the program can be copied."""
    parts: list[RenderableType] = [Text(f"── {JOURNAL['code'].format(number=item.number)} ──", style="cyan")]
    if item.explanation:
        parts.append(Markdown(visible(item.explanation), hyperlinks=False))
    parts += [python(item.code.rstrip()), Text("────────────", style="cyan")]
    return Group(*parts)


Previews = Mapping[str, Preview | None]
"""What the actions that wait would change, by action; None where nobody could tell."""


def asked(view: View, previews: Previews) -> RenderableType | None:  # noqa: PLR0911  one line a message
    """What a person has to see before they decide; None where the choices say it all.

    Of actions that wait, those that are in `previews`.
    """
    ask = view.ask
    match ask.message if ask else None:
        case s.TextPlanReview() as message if view.plan:
            path, known = message.path, view.session.plan
            shown = flow.review(known, path) if path and known else plan(view.plan)
            return Group(shown, Text(visible(message.message)))
        case s.CodeReview() as message if view.code:
            return Group(code(view.code), *_checks(message), Text(visible(message.message)))
        case s.FeedbackRequest() as message:
            return Text(visible(message.message))
        case s.Question() as message:
            return Group(Markdown(f"**?** {visible(message.content)}", hyperlinks=False), flow.choose(tables(ask)))
        case s.ApprovalRequest() as message:
            new = [action for action in message.actions if action.action_id in previews]
            return Group(*(trace.card(action, previews[action.action_id]) for action in new)) if new else None
        case s.Continue() as message if ask and ask.kind == "stopped":
            return Text(visible(message.content.message), style="yellow")
        case s.Stopped() as message:
            return Text(visible(message.message), style="yellow")
        case s.Completed() as message:
            return Text(visible(message.content), style="green")
        case s.Failed() as message:
            return _failed(message)
    return None


def _checks(message: s.CodeReview) -> Iterable[RenderableType]:
    for check in message.checks:
        mark, style = ("✓", "green") if check.ok else ("✗", "red")
        yield Text.assemble(
            (f"{mark} {visible(check.name)} ", style), ("" if check.ok else short(check.detail, 300), "dim")
        )


def _failed(message: s.Failed) -> RenderableType:
    lines = [Text.assemble(("✗ ", "bold red"), visible(message.message))]
    if (reason := visible(message.failure.reason)) not in message.message:
        lines.append(Text(reason, style="red"))
    if message.failure.raw:
        lines.append(Text(TERMINAL["raw_reply"].format(text=short(message.failure.raw, 300)), style="dim"))
    return Group(*lines)


def told(message: s.ServerMessage) -> RenderableType | None:
    """What a message says that neither is an event nor asks for anything."""
    match message:
        case s.Log():
            return Text(visible(message.content), style="dim")
        case s.Completion():
            return Text.assemble(("✓ ", "bold green"), visible(message.message))
        case s.Forked():
            return Text(TERMINAL["fork"].format(session=message.fork_id))
        case s.Error():
            lines = [Text.assemble(("✗ ", "bold red"), visible(message.message))]
            return Group(*lines, *([Text(f"  {visible(message.hint)}", style="dim")] if message.hint else []))
        case _:
            return None


def _is_run(view: View) -> bool:
    turn = view.session.turn
    return turn is not None and _runs_code(action.spec for action in turn.actions)


def _runs_code(actions: Iterable[ActionSpec]) -> bool:
    return all(spec.tool == RUN_CODE for spec in actions)


def happened(event: SessionEvent, view: View, *, mine: bool) -> RenderableType | None:  # noqa: PLR0911  one line a fact
    """An event as it passes by. What I typed myself is on the screen already."""
    if on_path := _on_path(event, view):
        return on_path
    match event:
        case facts.TurnPlanned():
            return trace.planned(event)
        case facts.TurnRequested():  # who runs the code knows what they asked for
            return None if _runs_code(event.actions) else trace.requested(event)
        case facts.ActionsFinished():
            tools = trace.tools_of(view.events)
            return Group(*(trace.outcome(one, tools.get(one.action_id, "")) for one in event.outcomes))
        case facts.AnswerGiven():
            return trace.answer(event, trace.tools_of(view.events), walked=walk(view.session) is not None)
        case facts.TurnVerified():  # of a run, `completion` repeats the words
            return trace.verdict(event, words=event.next_action != "complete" or not _is_run(view))
    if isinstance(event, facts.TurnChanged) and not _is_another(event):
        return None
    if isinstance(event, _QUIET) or (mine and isinstance(event, facts.MessageReceived | facts.QuestionAnswered)):
        return None
    return line(event)


def _on_path(event: SessionEvent, view: View) -> RenderableType | None:
    turn = walk(view.session)
    match event:
        case facts.TurnPlanned(path=path) if path:
            return flow.planned(event, path)
        case facts.TurnChanged() if turn and _is_another(event):
            return Group(line(event), Padding(flow.line(turn), (0, 0, 0, 2), expand=False))
        case facts.ActionsFinished() if turn:
            ended = ((find(view.session, one.action_id), one) for one in event.outcomes)
            return Group(*(flow.outcome(action, one) for action, one in ended if action))
        case _:
            return None


def _is_another(event: facts.TurnChanged) -> bool:
    """Not only what the next node gets: its card tells that."""
    return bool(event.reason or event.overrides or event.actor.startswith("user:"))


def _walking(view: View) -> Iterable[RenderableType]:
    """Where the path has come to, while it is walked."""
    turn = walk(view.session)
    if turn and view.session.phase == "executing":
        yield flow.line(turn)


def line(event: SessionEvent) -> Text:
    who = event.actor.removeprefix("user:")
    style = "bold" if event.actor.startswith("user:") else "cyan"
    return Text.assemble(("· ", "dim"), (f"{visible(who)} ", style), (gist(event), "dim"))


def writing(draft: Draft) -> RenderableType:
    """The draft as it stands at this moment."""
    text = visible(("… " if draft.start else "") + draft.text)
    return python(text) if draft.kind in ("code", "tests") else Markdown(text, hyperlinks=False)


def live(view: View, *, elapsed: float, url: str, rows: int, console: Console) -> RenderableType:
    """What stands above the input line: what is being written and who works, or what can be chosen."""
    parts: list[RenderableType] = []
    if view.draft and view.ask is None:
        parts.append(_tail(writing(view.draft), max(rows - 6, 3), console))
    if not view.online:
        parts.append(Text(f"{TERMINAL['offline'].format(url=url)} {TERMINAL['offline_keys']}", style="yellow"))
    elif view.ask:
        parts.append(offered(view.ask))
    elif view.paused:
        parts.append(Text(TERMINAL["paused"], style="yellow"))
    elif view.version or view.known or view.events:
        parts += [*_walking(view), progress(view, elapsed)]
    return Group(*parts)


def progress(view: View, elapsed: float) -> Text:
    frame = _FRAMES[int(elapsed * 10) % len(_FRAMES)]
    doing = f"{view.worker or 'Parley'} {_DOING.get(view.worker or '', PHASES['working'])}"
    if view.draft:
        doing = DRAFTS[view.draft.kind]
    return Text.assemble((f"{frame} ", "cyan"), doing, (f" · {elapsed:.0f} s · {TERMINAL['working_keys']}", "dim"))


def offered(ask: Ask) -> RenderableType:
    """The numbered choices, and what else can be typed."""
    lines = [
        Text.assemble((f"{n:>2} ", "bold cyan"), visible(choice.label)) for n, choice in enumerate(choices(ask), 1)
    ]
    if len(ask.actions) > 1:
        first = ask.actions[0]
        lines.insert(0, Text(f"about {visible(first.action_id)}: {short(first.text or first.tool)}"))
    return Group(*lines, Text(hint(ask), style="dim"))


def _tail(part: RenderableType, rows: int, console: Console) -> RenderableType:
    """The last `rows` lines of something that is longer than the screen."""
    lines = console.render_lines(part, console.options, pad=False)
    kept = Text()
    for row in lines[-rows:]:
        for segment in row:
            kept.append(segment.text, segment.style)
        kept.append("\n")
    kept.rstrip()
    return kept


def usage(view: View) -> RenderableType:
    """Calls, tokens and cost so far, with their limits."""
    spent = view.usage
    if not spent:
        return Text(TERMINAL["nothing_spent"])
    tokens = spent.prompt_tokens + spent.completion_tokens
    limit = f" of {spent.token_budget}" if spent.token_budget else ""
    money = f" of ${spent.cost_budget:g}" if spent.cost_budget else ""
    return Text(
        f"{spent.calls} calls · {tokens}{limit} tokens ({spent.cached_tokens} cached) · ${spent.cost:.4f}{money}"
    )


def manual() -> RenderableType:
    """All slash commands."""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True)
    for name, entry in COMMANDS.items():
        lines.add_row(Text(f"/{name} {entry.usage}".rstrip(), style="cyan"), Text(entry.help, style="dim"))
    keys = TERMINAL["keys"]
    return Group(lines, Text(keys, style="dim"))
