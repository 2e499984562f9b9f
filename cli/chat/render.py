"""How things look. Everything that others wrote goes through `visible` first."""

from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from cli.chat import flow, trace
from cli.chat.choices import choices, hint
from cli.chat.forms import Field, fields, tables
from cli.chat.frames import Framed, python
from cli.chat.paths import walks
from cli.chat.slash import COMMANDS
from cli.chat.state import Ask, View
from cli.chat.text import short
from cli.visible import visible
from parley.client.screen import Draft
from parley.protocol import server as s
from parley.protocol.tools import Preview
from parley.protocol.views import CodeView, PlanView
from parley.protocol.words import DRAFTS, JOURNAL, PHASES, TERMINAL, WELCOME

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def greeting(message: s.Greeting, *, begins: bool = True) -> RenderableType:
    """Who is there, and with which model; a banner while it is the rehearsal model. `begins`: with a new session."""
    lines: list[RenderableType] = [Text(visible(message.message))] if begins else []
    if message.rehearsal:
        words = f"{WELCOME['demo']} {TERMINAL['demo_how']}"
        lines.append(Framed(Text(words), TERMINAL["demo_title"], "yellow"))
    else:
        lines.append(Text(TERMINAL["model"].format(name=visible(message.model)), style="dim"))
    return Group(*lines)


def plan(item: PlanView) -> RenderableType:
    return Framed(Markdown(visible(item.text), hyperlinks=False), JOURNAL["plan"].format(number=item.number), "cyan")


def code(item: CodeView) -> RenderableType:
    """A rule above and below instead of a frame, so that the program can be copied."""
    parts: list[RenderableType] = [Text(f"── {JOURNAL['code'].format(number=item.number)} ──", style="cyan")]
    if item.explanation:
        parts.append(Markdown(visible(item.explanation), hyperlinks=False))
    parts += [python(item.code.rstrip()), Text("────────────", style="cyan")]
    return Group(*parts)


Previews = Mapping[str, Preview | None]
"""What the actions that wait would change, by action; None where nobody could tell."""


def asked(view: View, previews: Previews) -> RenderableType | None:
    """What a person has to see before they decide; None where the choices say it all.

    Of actions that wait, those that are in `previews`.
    """
    ask = view.asked
    match ask.kind if ask else None:
        case "plan" if ask and view.plan:
            path = view.plan.path
            return Group(flow.review(view.plan, path) if path else plan(view.plan), Text(visible(ask.message)))
        case "code" if ask and view.code:
            return Group(code(view.code), *_checks(view.code), Text(visible(ask.message)))
        case "question" if ask:
            asked = fields(ask.question.form if ask.question else None)
            words = Markdown(f"**?** {visible(ask.message)}", hyperlinks=False)
            return Group(words, flow.choose(tables(ask)), *map(_field, asked))
        case "actions" if ask:
            new = [action for action in ask.actions if action.action_id in previews]
            return Group(*(trace.card(action, previews[action.action_id]) for action in new)) if new else None
        case "feedback" | "stopped" | "escalated" if ask:
            return Text(visible(ask.message), style="yellow")
    return None


def _field(one: Field) -> Text:
    """A field of a form, with what it takes."""
    allowed = " or ".join(one.allowed)
    about = " · ".join(filter(None, (one.description, allowed, "" if one.required else "optional")))
    return Text.assemble("  ", (visible(one.name), "bold"), (f"  {visible(about)}", "dim"))


def _checks(item: CodeView) -> Iterable[RenderableType]:
    for check in item.checks:
        mark, style = ("✓", "green") if check.ok else ("✗", "red")
        yield Text.assemble(
            (f"{mark} {visible(check.name)} ", style), ("" if check.ok else short(check.detail, 300), "dim")
        )


def told(message: object) -> RenderableType | None:
    """What a message says that neither is an event nor asks for anything."""
    match message:
        case s.Log():
            return Text(visible(message.content), style="dim")
        case s.Forked():
            return Text(TERMINAL["fork"].format(session=message.fork_id))
        case s.Error():
            lines = [Text.assemble(("✗ ", "bold red"), visible(message.message))]
            return Group(*lines, *([Text(f"  {visible(message.hint)}", style="dim")] if message.hint else []))
        case _:
            return None


def _walking(view: View) -> Iterable[RenderableType]:
    """Where the path has come to, while it is walked."""
    if walks(view) and view.worker == "executor":
        yield flow.line(view.actions)


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
        parts.append(offered(view, view.ask))
    elif view.paused:
        parts.append(Text(TERMINAL["paused"], style="yellow"))
    elif view.worker:
        parts += [*_walking(view), progress(view, elapsed)]
    return Group(*parts)


def progress(view: View, elapsed: float) -> Text:
    frame = _FRAMES[int(elapsed * 10) % len(_FRAMES)]
    phase = view.stands.phase if view.stands else ""
    special = f"{view.stands.workflow}_{phase}" if view.stands else ""
    doing = f"{visible(view.worker)} {PHASES.get(special) or PHASES.get(phase) or PHASES['working']}"
    if view.draft:
        doing = DRAFTS[view.draft.kind]
    return Text.assemble((f"{frame} ", "cyan"), doing, (f" · {elapsed:.0f} s · {TERMINAL['working_keys']}", "dim"))


def offered(view: View, ask: Ask) -> RenderableType:
    """The numbered choices, and what else can be typed."""
    lines = [
        Text.assemble((f"{n:>2} ", "bold cyan"), visible(choice.label)) for n, choice in enumerate(choices(view), 1)
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
    """Model calls, tokens and cost so far, with their limits; tool calls and seconds where they have one."""
    spent = view.stands.usage if view.stands else None
    if not spent or not (spent.calls or spent.tool_calls or spent.seconds):
        return Text(TERMINAL["nothing_spent"])
    tokens = spent.prompt_tokens + spent.completion_tokens
    limit = f" of {spent.token_budget}" if spent.token_budget else ""
    money = f" of ${spent.cost_budget:g}" if spent.cost_budget else ""
    work = f" · {spent.tool_calls} of {spent.call_budget} tool calls" if spent.call_budget else ""
    work += f" · {spent.seconds or 0:.0f} of {spent.time_budget} s at work" if spent.time_budget else ""
    return Text(
        f"{spent.calls} calls · {tokens}{limit} tokens ({spent.cached_tokens} cached) · ${spent.cost:.4f}{money}{work}"
    )


def manual() -> RenderableType:
    """All slash commands."""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True)
    for name, entry in COMMANDS.items():
        lines.add_row(Text(f"/{name} {entry.usage}".rstrip(), style="cyan"), Text(entry.help, style="dim"))
    keys = TERMINAL["keys"]
    return Group(lines, Text(keys, style="dim"))
