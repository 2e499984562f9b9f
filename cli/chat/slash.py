"""The commands that begin with a slash. Pure: takes a line and the view, returns an effect."""

import json
import shlex
from collections.abc import Callable
from typing import NamedTuple, get_args

from pydantic import ValidationError

from cli.chat.edit import reroute
from cli.chat.effects import (
    AskFurther,
    ChatEffect,
    RunLocally,
    SendMessage,
    ShowText,
    approve,
    approve_all,
    approve_plan,
    decide_offer,
    reject,
    replan,
)
from cli.chat.state import ChatView, InputRequest
from cli.talk.plans import parse_output
from parley.events.values import ToolPolicy
from parley.protocol import client as c
from parley.protocol.bounds import OwnAction
from parley.protocol.words import COMMANDS as HELP
from parley.protocol.words import TERMINAL
from shared.domain.workflows import WORKFLOWS


class SlashCommand(NamedTuple):
    """`usage` lists the arguments, `help` describes the command."""

    usage: str
    help: str
    effect: Callable[[ChatView, str], ChatEffect]


def _local(name: str) -> Callable[[ChatView, str], ChatEffect]:
    return lambda _view, argument: RunLocally(name, argument)


def _approve(view: ChatView, argument: str) -> ChatEffect:
    """Without arguments, approve what is in review. With `later`, the plan starts later; named steps are preapproved.

    A step is named by its number in the plan, or its id.
    """
    words = argument.split()
    if not words:
        return approve(view)
    numbers = {str(number): step.id for number, step in enumerate(view.plan.steps if view.plan else (), 1)}
    steps = [numbers.get(word) or word for word in words if word != "later"]
    return approve_plan(view, preapprove=steps, start="later" not in words)


def _run(_view: ChatView, argument: str) -> ChatEffect:
    return SendMessage(c.Run(type="run", args=tuple(shlex.split(argument))))


def _feedback(view: ChatView, argument: str) -> ChatEffect:
    if not argument:
        return AskFurther(InputRequest("feedback", previous=view.request))
    return SendMessage(c.Feedback(type="feedback", content=argument))


def _replan(view: ChatView, argument: str) -> ChatEffect:
    if argument == "text" and view.plan:
        return SendMessage(c.Replan(type="replan", plan_type="text", version=view.plan.version))
    if argument == "code" and view.code:
        return SendMessage(c.Replan(type="replan", plan_type="code", version=view.code.version))
    return replan(view)


def _fork(_view: ChatView, argument: str) -> ChatEffect:
    return SendMessage(c.Fork(type="fork", version=int(argument) if argument else None), is_answer=False)


def _remember(_view: ChatView, argument: str) -> ChatEffect:
    tool, policy = argument.split()
    if policy not in get_args(ToolPolicy):
        raise ValueError(policy)
    return SendMessage(c.Remember(type="remember", tool=tool, policy=policy), is_answer=False)


def _budget(_view: ChatView, argument: str) -> ChatEffect:
    what, amount = argument.split()
    if what == "cost":
        return SendMessage(c.RaiseBudget(type="raise_budget", cost=float(amount)), is_answer=False)
    if what not in ("tokens", "calls", "seconds"):
        raise ValueError(what)
    return SendMessage(c.RaiseBudget.model_validate({"type": "raise_budget", what: int(amount)}), is_answer=False)


def _take(view: ChatView, argument: str) -> ChatEffect:
    """Take the offer; with a tool, act by hand."""
    if not argument:
        return decide_offer(view, taken=True)
    tool, _, arguments = argument.partition(" ")
    own_action = OwnAction(tool=tool, arguments=json.loads(arguments or "{}"))
    return SendMessage(c.TakeOver(type="take_over", sub_goal=f"{tool}, by hand", actions=(own_action,)))


def _workflow(view: ChatView, argument: str) -> ChatEffect:
    if argument not in WORKFLOWS:
        raise ValueError(argument)
    if not view.newest_version:
        return RunLocally("workflow", argument)
    return SendMessage(c.ChooseWorkflow(type="choose_workflow", workflow=argument), is_answer=False)


def _path(view: ChatView, argument: str) -> ChatEffect:
    return reroute(view, argument) if argument else RunLocally("path")


def _judge(*, saved: bool) -> ChatEffect:
    return SendMessage(c.Judge(type="judge", accepted=True, saved=saved), is_answer=False)


def _skip(_view: ChatView, argument: str) -> ChatEffect:
    """Skip an action. Raises ValueError for an invalid output."""
    action_id, _space, rest = argument.partition(" ")
    if rest.strip() == "with-dependents":
        return SendMessage(c.Skip(type="skip", action_id=action_id, with_dependents=True), is_answer=False)
    output = parse_output(rest) if rest.strip() else None
    return SendMessage(c.Skip(type="skip", action_id=action_id, output=output), is_answer=False)


COMMANDS: dict[str, SlashCommand] = {
    "help": SlashCommand("", HELP["help"], _local("help")),
    "plan": SlashCommand("", HELP["plan"], _local("plan")),
    "code": SlashCommand("", HELP["code"], _local("code")),
    "journal": SlashCommand("", HELP["journal"], _local("journal")),
    "usage": SlashCommand("", HELP["usage"], _local("usage")),
    "export": SlashCommand("FILE", HELP["export"], _local("export")),
    "approve": SlashCommand("[later] [STEP …]", HELP["approve"], _approve),
    "all": SlashCommand("", HELP["approve_all"], lambda view, _: approve_all(view)),
    "decline": SlashCommand("[REASON]", HELP["decline"], reject),
    "feedback": SlashCommand("[TEXT]", HELP["feedback"], _feedback),
    "edit": SlashCommand("", HELP["edit"], _local("edit")),
    "replan": SlashCommand("[text|code]", HELP["replan"], _replan),
    "run": SlashCommand("[ARGS]", HELP["run"], _run),
    "stop": SlashCommand("", HELP["stop"], lambda _v, _a: SendMessage(c.Stop(type="stop"))),
    "pause": SlashCommand("", HELP["pause"], lambda _v, _a: SendMessage(c.Pause(type="pause"), is_answer=False)),
    "resume": SlashCommand("", HELP["resume"], lambda _v, _a: SendMessage(c.Unpause(type="unpause"), is_answer=False)),
    "retry": SlashCommand("", HELP["retry"], lambda _v, _a: SendMessage(c.Retry(type="retry"))),
    "skip": SlashCommand("ACTION [with-dependents|OUTPUT]", HELP["skip"], _skip),
    "cancel": SlashCommand("", HELP["cancel"], lambda _v, _a: SendMessage(c.Cancel(type="cancel"))),
    "complete": SlashCommand("", HELP["complete"], lambda _v, _a: SendMessage(c.Complete(type="complete"))),
    "rename": SlashCommand(
        "TITLE", HELP["rename"], lambda _v, a: SendMessage(c.Rename(type="rename", title=a), is_answer=False)
    ),
    "fork": SlashCommand("[VERSION]", HELP["fork"], _fork),
    "workflow": SlashCommand("NAME", HELP["workflow"], _workflow),
    "remember": SlashCommand("TOOL always|writes|never|deny", HELP["remember"], _remember),
    "take": SlashCommand('[TOOL {"name": value, …}]', HELP["take"], _take),
    "keep": SlashCommand("", HELP["keep"], lambda view, _: decide_offer(view, taken=False)),
    "back": SlashCommand("TEXT", HELP["back"], lambda _v, a: SendMessage(c.HandBack(type="hand_back", content=a))),
    "tools": SlashCommand("[WORDS]", HELP["tools"], _local("tools")),
    "memories": SlashCommand("[WORDS]", HELP["memories"], _local("memories")),
    "forget": SlashCommand("MEMORY", HELP["forget"], _local("forget")),
    "inbox": SlashCommand("", HELP["inbox"], _local("inbox")),
    "budget": SlashCommand("tokens|cost|calls|seconds N", HELP["budget"], _budget),
    "path": SlashCommand("[NODE, NODE …]", HELP["path"], _path),
    "csv": SlashCommand("FILE", HELP["csv"], _local("csv")),
    "accept": SlashCommand("", HELP["accept"], lambda _v, _a: _judge(saved=False)),
    "save": SlashCommand("", HELP["save"], lambda _v, _a: _judge(saved=True)),
    "library": SlashCommand("[WORDS]", HELP["library"], _local("library")),
    "quit": SlashCommand("", HELP["quit"], _local("quit")),
}
_SYNONYMS = {
    "exit": "quit",
    "close": "quit",
    "go": "resume",
    "continue": "resume",
    "reject": "decline",
    "deny": "decline",
    "?": "help",
}


def slash_command(line: str, view: ChatView) -> ChatEffect:
    """The effect of `/name argument`."""
    name, _, argument = line.removeprefix("/").strip().partition(" ")
    name = _SYNONYMS.get(name.lower(), name.lower())
    entry = COMMANDS.get(name)
    if not entry:
        matches = [command_name for command_name in COMMANDS if name and command_name.startswith(name)]
        if len(matches) != 1:
            return ShowText(TERMINAL["no_command"].format(name=name))
        name, entry = matches[0], COMMANDS[matches[0]]
    argument = argument.strip()
    if not argument and entry.usage and not entry.usage.startswith("["):
        return ShowText(TERMINAL["usage"].format(command=f"{name} {entry.usage}"))
    try:
        return entry.effect(view, argument)
    except (ValueError, ValidationError):
        return ShowText(TERMINAL["usage"].format(command=f"{name} {entry.usage}"))
