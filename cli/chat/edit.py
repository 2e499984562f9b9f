"""Editing a plan or a program, in the user's editor, or in the terminal if there is none."""

from collections.abc import Awaitable, Callable

from cli.chat.effects import ChatEffect, SendMessage, ShowText
from cli.chat.path_editing import editable_value, is_on_path, with_value
from cli.chat.plan_editing import HELP, InvalidPlanText, editable, read_plan
from cli.chat.state import ChatView
from parley.protocol import client as c
from parley.protocol.screen import ActionSection
from parley.protocol.views import CodeView, PlanView
from parley.protocol.words import TERMINAL

Editor = Callable[[str, str], Awaitable[str | None]]
"""Takes a text and a file suffix; returns the changed text, or None if the user left it unchanged."""


class NoEditor(Exception):
    """No editor program can be started."""


def run_editor(text: str, suffix: str) -> str | None:
    """Open $VISUAL, $EDITOR or the system's editor. Blocks until it exits. Raises NoEditor."""
    import click  # noqa: PLC0415  slow to import, and needed only here

    try:
        return click.edit(text, extension=suffix, require_save=True)
    except click.ClickException as error:
        raise NoEditor(error.message) from error


async def edit_in_review(view: ChatView, editor: Editor) -> ChatEffect:
    """Let the user edit what is in review, or what was approved last. Returns the new version as a message."""
    if view.request and view.request.kind == "actions" and view.request.actions:
        return await _edit_value(view, view.request.actions[0], editor)
    if view.code and (not view.request or view.request.kind != "plan"):
        return await _edit_code(view.code, editor)
    if view.plan:
        return await _edit_plan(view.plan, editor)
    return ShowText(TERMINAL["nothing_editable"])


async def _edit_code(code: CodeView, editor: Editor) -> ChatEffect:
    text = await editor(code.code, ".py")
    if text is None or text.rstrip() == code.code.rstrip():
        return ShowText(TERMINAL["nothing_changed"])
    if not text.strip():
        return ShowText(TERMINAL["program_empty"])
    return SendMessage(c.Edit(type="edit", target="code", version=code.version, content=text))


async def _edit_value(view: ChatView, action: ActionSection, editor: Editor) -> ChatEffect:
    """Edit the value that a node shows before it runs; the gateway then shows the changed one."""
    value = editable_value(action)
    if value is None or not is_on_path(view):
        return ShowText(TERMINAL["only_path_values"])
    text = await editor(f"{value.text.rstrip()}\n", ".sql" if value.name == "sql" else ".txt")
    if text is None or text.strip() in ("", value.text.strip()):
        return ShowText(TERMINAL["nothing_changed"])
    return with_value(view, value.name, text.strip())


async def _edit_plan(plan: PlanView, editor: Editor) -> ChatEffect:
    text = await editor(f"{editable(plan.goal, plan.steps, plan.notes)}\n{HELP}", ".md")
    if text is None:
        return ShowText(TERMINAL["nothing_changed"])
    try:
        goal, steps, notes = read_plan(text, plan.steps)
    except InvalidPlanText as error:
        return ShowText(f"{error} {TERMINAL['nothing_changed']}")
    if (goal, steps, notes) == (plan.goal, plan.steps, plan.notes):
        return ShowText(TERMINAL["nothing_changed"])
    return SendMessage(c.Edit(type="edit", target="plan", version=plan.version, goal=goal, steps=steps, notes=notes))
