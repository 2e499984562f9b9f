"""Editing a plan or a program: in the person's own editor, or in the terminal where there is none."""

from collections.abc import Awaitable, Callable

from cli.chat.doing import Doing, Say, Send
from cli.chat.paths import shown, walks, with_value
from cli.chat.state import View
from cli.chat.text import HELP, Unreadable, editable, read_plan
from parley.protocol import client as c
from parley.protocol.screen import ActionSection
from parley.protocol.views import CodeView, PlanView
from parley.protocol.words import TERMINAL

Editor = Callable[[str, str], Awaitable[str | None]]
"""Text and file suffix in, the changed text out; None when the person leaves it as it is."""


class NoEditor(Exception):
    """There is no editor program that can be started."""


def in_program(text: str, suffix: str) -> str | None:
    """Open $VISUAL, $EDITOR or what the system has. Blocks until it ends. Raises NoEditor."""
    import click  # noqa: PLC0415  only here, and it takes its time

    try:
        return click.edit(text, extension=suffix, require_save=True)
    except click.ClickException as error:
        raise NoEditor(error.message) from error


async def edit(view: View, editor: Editor) -> Doing:
    """Let the person change what is in review, or what was approved last; their version as a message."""
    if view.ask and view.ask.kind == "actions" and view.ask.actions:
        return await _edit_value(view, view.ask.actions[0], editor)
    if view.code and (not view.ask or view.ask.kind != "plan"):
        return await _edit_code(view.code, editor)
    if view.plan:
        return await _edit_plan(view.plan, editor)
    return Say(TERMINAL["nothing_editable"])


async def _edit_code(code: CodeView, editor: Editor) -> Doing:
    text = await editor(code.code, ".py")
    if text is None or text.rstrip() == code.code.rstrip():
        return Say(TERMINAL["nothing_changed"])
    if not text.strip():
        return Say(TERMINAL["program_empty"])
    return Send(c.Edit(type="edit", target="code", version=code.version, content=text))


async def _edit_value(view: View, action: ActionSection, editor: Editor) -> Doing:
    """What a node shows before it runs; changed, it is shown again."""
    value = shown(action)
    if value is None or not walks(view):
        return Say(TERMINAL["only_path_values"])
    text = await editor(f"{value.text.rstrip()}\n", ".sql" if value.name == "sql" else ".txt")
    if text is None or text.strip() in ("", value.text.strip()):
        return Say(TERMINAL["nothing_changed"])
    return with_value(view, value.name, text.strip())


async def _edit_plan(plan: PlanView, editor: Editor) -> Doing:
    text = await editor(f"{editable(plan.goal, plan.steps, plan.notes)}\n{HELP}", ".md")
    if text is None:
        return Say(TERMINAL["nothing_changed"])
    try:
        goal, steps, notes = read_plan(text, plan.steps)
    except Unreadable as error:
        return Say(f"{error} {TERMINAL['nothing_changed']}")
    if (goal, steps, notes) == (plan.goal, plan.steps, plan.notes):
        return Say(TERMINAL["nothing_changed"])
    return Send(c.Edit(type="edit", target="plan", version=plan.version, goal=goal, steps=steps, notes=notes))
