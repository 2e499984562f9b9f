"""Renders everything but the journal. All foreign text goes through `visible` first."""

from collections.abc import Iterable, Mapping

from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from cli.chat import render_flow, render_turn
from cli.chat.choices import choices, hint
from cli.chat.edit import is_on_path
from cli.chat.forms import FormField, form_fields, table_options
from cli.chat.panels import PythonSource, TitledPanel
from cli.chat.render_turn import render_offer
from cli.chat.slash import COMMANDS
from cli.chat.state import ChatView, InputRequest
from cli.text import short, visible
from parley.client.screen import LiveDraft
from parley.protocol import server as s
from parley.protocol.tools import Preview
from parley.protocol.views import CodeView, PlanView
from parley.protocol.words import DRAFTS, JOURNAL, PHASES, REVIEW, STATUS, TERMINAL, WELCOME

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def render_greeting(message: s.Greeting, *, begins: bool = True) -> RenderableType:
    """The greeting and the model; a banner for the rehearsal model. `begins`: whether the session is new."""
    lines: list[RenderableType] = [Text(visible(message.message))] if begins else []
    if message.rehearsal:
        words = f"{WELCOME['demo']} {TERMINAL['demo_how']}"
        lines.append(TitledPanel(Text(words), TERMINAL["demo_title"], "yellow"))
    else:
        lines.append(Text(TERMINAL["model"].format(name=visible(message.model)), style="dim"))
    return Group(*lines)


def render_plan(item: PlanView) -> RenderableType:
    wishes = f"\n\n{REVIEW['wishes'].format(wishes='; '.join(item.wishes))}" if item.wishes else ""
    text = Markdown(visible(item.text + wishes), hyperlinks=False)
    path = render_flow.planned_steps(item, item.path) if item.path else ()
    return TitledPanel(Group(*path, text), JOURNAL["path" if item.path else "plan"].format(number=item.number), "cyan")


def render_code(item: CodeView) -> RenderableType:
    """Code with a rule above and below instead of a frame, so that it can be copied."""
    parts: list[RenderableType] = [Text(f"── {JOURNAL['code'].format(number=item.number)} ──", style="cyan")]
    if item.explanation:
        parts.append(Markdown(visible(item.explanation), hyperlinks=False))
    parts += [PythonSource(item.code.rstrip()), Text("────────────", style="cyan")]
    return Group(*parts)


Previews = Mapping[str, Preview | None]
"""What the waiting actions would change, by action id; None if the preview is not available."""


def render_request(view: ChatView, previews: Previews) -> RenderableType | None:  # noqa: PLR0911  one case a request
    """What the user has to see before deciding; None if the choices are enough.

    Shows only those waiting actions that are in `previews`.
    """
    request = view.gateway_request
    match request.kind if request else None:
        case "plan" if request and view.plan:
            return Group(render_plan(view.plan), Text(visible(request.message)))
        case "code" if request and view.code:
            return Group(render_code(view.code), *_checks(view.code), Text(visible(request.message)))
        case "question" if request:
            asked = form_fields(request.question.form if request.question else None)
            words = Markdown(f"**?** {visible(request.message)}", hyperlinks=False)
            follow = Text(questions_follow(request), style="dim")
            return Group(
                words,
                *([follow] if follow else []),
                render_flow.table_choices(table_options(request)),
                *map(_field, asked),
            )
        case "actions" if request:
            new = [action for action in request.actions if action.action_id in previews]
            return (
                Group(*(render_turn.action_card(action, previews[action.action_id]) for action in new)) if new else None
            )
        case "offer" if request and request.offer:
            return render_offer(request.offer, view)
        case "feedback" | "stopped" | "escalated" if request:
            return Text(visible(request.message), style="yellow")
    return None


def questions_follow(request: InputRequest) -> str:
    """How many questions follow this one; "" if none does."""
    count = len(request.question.further) if request.question else 0
    word = "one_question_follows" if count == 1 else "questions_follow"
    return TERMINAL[word].format(count=count) if count else ""


def _field(field: FormField) -> Text:
    """A form's field with its description and permitted values."""
    allowed = " or ".join(field.allowed)
    about = " · ".join(filter(None, (field.description, allowed, "" if field.required else "optional")))
    return Text.assemble("  ", (visible(field.name), "bold"), (f"  {visible(about)}", "dim"))


def _checks(item: CodeView) -> Iterable[RenderableType]:
    for check in item.checks:
        mark, style = ("✓", "green") if check.ok else ("✗", "red")
        yield Text.assemble(
            (f"{mark} {visible(check.name)} ", style), ("" if check.ok else short(check.detail, 300), "dim")
        )


def render_message(message: object) -> RenderableType | None:
    """The text of a message that is neither an event nor a request; None for others."""
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


def _current_path(view: ChatView) -> Iterable[RenderableType]:
    """The path with the current node, while the executor runs it."""
    if is_on_path(view) and view.worker == "executor":
        yield render_flow.path_line(view.actions)


def render_draft(draft: LiveDraft) -> RenderableType:
    """The current text of a draft."""
    text = visible(("… " if draft.start else "") + draft.text)
    return PythonSource(text) if draft.kind in ("code", "tests") else Markdown(text, hyperlinks=False)


def render_live(view: ChatView, *, elapsed: float, url: str, rows: int, console: Console) -> RenderableType:
    """The region above the input line: the draft and who is working, or the choices."""
    parts: list[RenderableType] = []
    if view.draft and view.draft.text and view.request is None:
        parts.append(_last_rows(render_draft(view.draft), max(rows - 6, 3), console))
    if not view.is_online:
        parts.append(Text(f"{TERMINAL['offline'].format(url=url)} {TERMINAL['offline_keys']}", style="yellow"))
    elif view.request:
        parts.append(render_choices(view, view.request))
    elif view.is_paused:
        parts.append(Text(TERMINAL["paused"], style="yellow"))
    elif view.worker:
        parts += [*_current_path(view), render_progress(view, elapsed)]
    return Group(*parts)


def render_progress(view: ChatView, elapsed: float) -> Text:
    frame = _FRAMES[int(elapsed * 10) % len(_FRAMES)]
    doing = " · ".join(_activities(view))
    wait = view.draft.remaining_wait if view.draft else 0
    if view.draft and (wait or not view.is_replying):
        doing = STATUS["model_waits"].format(seconds=wait) if wait else DRAFTS[view.draft.kind]
    elapsed_text = "" if wait else f" · {elapsed:.0f} s"
    keys = TERMINAL["withdraw_keys" if view.stop_withdraws else "working_keys"]
    return Text.assemble((f"{frame} ", "cyan"), doing, (f"{elapsed_text} · {keys}", "dim"))


def _activities(view: ChatView) -> Iterable[str]:
    """What the service at work does, and the one that replies beside it."""
    sections = view.sections
    if sections is None:
        return
    if sections.work:
        doing = PHASES.get(f"{sections.workflow}_{sections.phase}") or PHASES.get(sections.phase) or PHASES["working"]
        yield f"{visible(sections.work.service)} {doing}"
    if sections.reply:
        words = STATUS["replying_holds" if view.holds_changes else "replying"]
        yield words.format(service=visible(sections.reply.service))


def render_choices(view: ChatView, request: InputRequest) -> RenderableType:
    """The numbered choices, and what else the user can type."""
    lines = [
        Text.assemble((f"{number:>2} ", "bold cyan"), visible(choice.label))
        for number, choice in enumerate(choices(view), 1)
    ]
    if len(request.actions) > 1:
        first = request.actions[0]
        lines.insert(0, Text(f"about {visible(first.action_id)}: {short(first.text or first.tool)}"))
    return Group(*lines, Text(hint(request), style="dim"))


def _last_rows(part: RenderableType, rows: int, console: Console) -> RenderableType:
    """The last `rows` lines of a renderable."""
    lines = console.render_lines(part, console.options, pad=False)
    tail = Text()
    for row in lines[-rows:]:
        for segment in row:
            tail.append(segment.text, segment.style)
        tail.append("\n")
    tail.rstrip()
    return tail


def render_usage(view: ChatView) -> RenderableType:
    """Model calls, tokens and cost so far, with limits; tool calls and seconds only if limited."""
    spent = view.sections.usage if view.sections else None
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


def render_commands() -> RenderableType:
    """The list of slash commands."""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True)
    for name, entry in COMMANDS.items():
        lines.add_row(Text(f"/{name} {entry.usage}".rstrip(), style="cyan"), Text(entry.help, style="dim"))
    keys = TERMINAL["keys"]
    return Group(lines, Text(keys, style="dim"))
