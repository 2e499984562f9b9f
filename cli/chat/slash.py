"""The commands that begin with a slash. Pure: a line and the view in, what to do out."""

import json
import shlex
from collections.abc import Callable
from typing import NamedTuple, get_args

from pydantic import ValidationError

from cli.chat.decisions import approve, approve_all, approve_plan, reject, replan
from cli.chat.doing import Doing, Local, More, Say, Send
from cli.chat.paths import reroute
from cli.chat.state import Ask, View
from cli.given_output import read_output
from parley.events.values import ToolPolicy
from parley.protocol import client as c
from parley.protocol.bounds import OwnAction
from parley.protocol.words import COMMANDS as HELP
from parley.protocol.words import TERMINAL
from shared.domain.workflows import WORKFLOWS


class Command(NamedTuple):
    """`usage` shows its arguments, `help` says what it does in a few words."""

    usage: str
    help: str
    do: Callable[[View, str], Doing]


def _local(name: str) -> Callable[[View, str], Doing]:
    return lambda _view, argument: Local(name, argument)


def _approve(view: View, argument: str) -> Doing:
    """With words: the plan, to be started `later`, or with these steps allowed whatever values they get.

    A step goes by its number in the plan, or its id.
    """
    words = argument.split()
    if not words:
        return approve(view)
    numbers = {str(number): step.id for number, step in enumerate(view.plan.steps if view.plan else (), 1)}
    steps = [numbers.get(word) or word for word in words if word != "later"]
    return approve_plan(view, preapprove=steps, start="later" not in words)


def _run(_view: View, argument: str) -> Doing:
    return Send(c.Run(type="run", args=tuple(shlex.split(argument))))


def _feedback(view: View, argument: str) -> Doing:
    if not argument:
        return More(Ask("feedback", back=view.ask))
    return Send(c.Feedback(type="feedback", content=argument))


def _replan(view: View, argument: str) -> Doing:
    if argument == "text" and view.plan:
        return Send(c.Replan(type="replan", plan_type="text", version=view.plan.version))
    if argument == "code" and view.code:
        return Send(c.Replan(type="replan", plan_type="code", version=view.code.version))
    return replan(view)


def _fork(_view: View, argument: str) -> Doing:
    return Send(c.Fork(type="fork", version=int(argument) if argument else None), moves=False)


def _remember(_view: View, argument: str) -> Doing:
    tool, policy = argument.split()
    if policy not in get_args(ToolPolicy):
        raise ValueError(policy)
    return Send(c.Remember(type="remember", tool=tool, policy=policy), moves=False)


def _budget(_view: View, argument: str) -> Doing:
    what, amount = argument.split()
    if what == "cost":
        return Send(c.RaiseBudget(type="raise_budget", cost=float(amount)), moves=False)
    if what not in ("tokens", "calls", "seconds"):
        raise ValueError(what)
    return Send(c.RaiseBudget.model_validate({"type": "raise_budget", what: int(amount)}), moves=False)


def _take(_view: View, argument: str) -> Doing:
    tool, _, arguments = argument.partition(" ")
    own = OwnAction(tool=tool, arguments=json.loads(arguments or "{}"))
    return Send(c.TakeOver(type="take_over", sub_goal=f"{tool}, by hand", actions=(own,)))


def _workflow(view: View, argument: str) -> Doing:
    if argument not in WORKFLOWS:
        raise ValueError(argument)
    if not view.known:
        return Local("workflow", argument)
    return Send(c.ChooseWorkflow(type="choose_workflow", workflow=argument), moves=False)


def _path(view: View, argument: str) -> Doing:
    return reroute(view, argument) if argument else Local("path")


def _judge(*, saved: bool) -> Doing:
    return Send(c.Judge(type="judge", accepted=True, saved=saved), moves=False)


def _skip(_view: View, argument: str) -> Doing:
    """Raises ValueError for an output that is none."""
    action_id, _space, given = argument.partition(" ")
    if given.strip() == "with-dependents":
        return Send(c.Skip(type="skip", action_id=action_id, with_dependents=True), moves=False)
    output = read_output(given) if given.strip() else None
    return Send(c.Skip(type="skip", action_id=action_id, output=output), moves=False)


COMMANDS: dict[str, Command] = {
    "help": Command("", HELP["help"], _local("help")),
    "plan": Command("", HELP["plan"], _local("plan")),
    "code": Command("", HELP["code"], _local("code")),
    "journal": Command("", HELP["journal"], _local("journal")),
    "usage": Command("", HELP["usage"], _local("usage")),
    "export": Command("FILE", HELP["export"], _local("export")),
    "approve": Command("[later] [STEP …]", HELP["approve"], _approve),
    "all": Command("", HELP["approve_all"], lambda view, _: approve_all(view)),
    "decline": Command("[REASON]", HELP["decline"], reject),
    "feedback": Command("[TEXT]", HELP["feedback"], _feedback),
    "edit": Command("", HELP["edit"], _local("edit")),
    "replan": Command("[text|code]", HELP["replan"], _replan),
    "run": Command("[ARGS]", HELP["run"], _run),
    "stop": Command("", HELP["stop"], lambda _v, _a: Send(c.Stop(type="stop"))),
    "pause": Command("", HELP["pause"], lambda _v, _a: Send(c.Pause(type="pause"), moves=False)),
    "resume": Command("", HELP["resume"], lambda _v, _a: Send(c.Unpause(type="unpause"), moves=False)),
    "retry": Command("", HELP["retry"], lambda _v, _a: Send(c.Retry(type="retry"))),
    "skip": Command("ACTION [with-dependents|OUTPUT]", HELP["skip"], _skip),
    "cancel": Command("", HELP["cancel"], lambda _v, _a: Send(c.Cancel(type="cancel"))),
    "complete": Command("", HELP["complete"], lambda _v, _a: Send(c.Complete(type="complete"))),
    "rename": Command("TITLE", HELP["rename"], lambda _v, a: Send(c.Rename(type="rename", title=a), moves=False)),
    "fork": Command("[VERSION]", HELP["fork"], _fork),
    "workflow": Command("NAME", HELP["workflow"], _workflow),
    "remember": Command("TOOL always|writes|never|deny", HELP["remember"], _remember),
    "take": Command('TOOL {"name": value, …}', HELP["take"], _take),
    "back": Command("TEXT", HELP["back"], lambda _v, a: Send(c.HandBack(type="hand_back", content=a))),
    "tools": Command("[WORDS]", HELP["tools"], _local("tools")),
    "memories": Command("[WORDS]", HELP["memories"], _local("memories")),
    "forget": Command("MEMORY", HELP["forget"], _local("forget")),
    "inbox": Command("", HELP["inbox"], _local("inbox")),
    "budget": Command("tokens|cost|calls|seconds N", HELP["budget"], _budget),
    "path": Command("[NODE, NODE …]", HELP["path"], _path),
    "csv": Command("FILE", HELP["csv"], _local("csv")),
    "accept": Command("", HELP["accept"], lambda _v, _a: _judge(saved=False)),
    "save": Command("", HELP["save"], lambda _v, _a: _judge(saved=True)),
    "library": Command("[WORDS]", HELP["library"], _local("library")),
    "quit": Command("", HELP["quit"], _local("quit")),
}
_SAME = {
    "exit": "quit",
    "close": "quit",
    "go": "resume",
    "continue": "resume",
    "reject": "decline",
    "deny": "decline",
    "?": "help",
}


def command(line: str, view: View) -> Doing:
    """What `/name argument` does."""
    name, _, argument = line.removeprefix("/").strip().partition(" ")
    name = _SAME.get(name.lower(), name.lower())
    found = COMMANDS.get(name)
    if not found:
        near = [known for known in COMMANDS if name and known.startswith(name)]
        if len(near) != 1:
            return Say(TERMINAL["no_command"].format(name=name))
        name, found = near[0], COMMANDS[near[0]]
    argument = argument.strip()
    if not argument and found.usage and not found.usage.startswith("["):
        return Say(TERMINAL["usage"].format(command=f"{name} {found.usage}"))
    try:
        return found.do(view, argument)
    except (ValueError, ValidationError):
        return Say(TERMINAL["usage"].format(command=f"{name} {found.usage}"))
