"""The commands that begin with a slash. Pure: a line and the view in, what to do out."""

import json
import shlex
from collections.abc import Callable
from typing import NamedTuple, get_args

from pydantic import ValidationError

from cli.chat.choices import Doing, Local, More, Say, Send, approve, reject, replan
from cli.chat.paths import reroute
from cli.chat.state import Ask, View
from parley.events.values import ToolPolicy
from parley.protocol import client as c
from shared.domain.workflows import WORKFLOWS


class Command(NamedTuple):
    """`usage` shows its arguments, `help` says what it does in a few words."""

    usage: str
    help: str
    do: Callable[[View, str], Doing]


def _local(name: str) -> Callable[[View, str], Doing]:
    return lambda _view, argument: Local(name, argument)


def _run(_view: View, argument: str) -> Doing:
    return Send(c.Run(type="run", args=tuple(shlex.split(argument))))


def _feedback(view: View, argument: str) -> Doing:
    if not argument:
        return More(Ask("feedback", view.known, back=view.ask))
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
    if what == "tokens":
        return Send(c.RaiseBudget(type="raise_budget", tokens=int(amount)), moves=False)
    if what == "cost":
        return Send(c.RaiseBudget(type="raise_budget", cost=float(amount)), moves=False)
    raise ValueError(what)


def _take(_view: View, argument: str) -> Doing:
    tool, _, arguments = argument.partition(" ")
    own = c.OwnAction(tool=tool, arguments=json.loads(arguments or "{}"))
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


COMMANDS: dict[str, Command] = {
    "help": Command("", "this list", _local("help")),
    "plan": Command("", "show the plan", _local("plan")),
    "code": Command("", "show the code", _local("code")),
    "journal": Command("", "all that happened so far", _local("journal")),
    "usage": Command("", "tokens and cost so far", _local("usage")),
    "export": Command("FILE", "save it: .md, .json or .py", _local("export")),
    "approve": Command("", "approve what is in review", lambda view, _: approve(view)),
    "reject": Command("[REASON]", "refuse what is in review", reject),
    "feedback": Command("[TEXT]", "say what to change", _feedback),
    "edit": Command("", "edit what is in review", _local("edit")),
    "replan": Command("[text|code]", "something else instead", _replan),
    "run": Command("[ARGS]", "run the approved code", _run),
    "stop": Command("", "stop what is going on", lambda _v, _a: Send(c.Stop(type="stop"))),
    "pause": Command("", "begin no further step", lambda _v, _a: Send(c.Pause(type="pause"), moves=False)),
    "go": Command("", "go on after a pause", lambda _v, _a: Send(c.Unpause(type="unpause"), moves=False)),
    "retry": Command("", "do again what failed or was stopped", lambda _v, _a: Send(c.Retry(type="retry"))),
    "skip": Command(
        "ACTION", "leave this action out", lambda _v, a: Send(c.Skip(type="skip", action_id=a), moves=False)
    ),
    "cancel": Command("", "give the plan up", lambda _v, _a: Send(c.Cancel(type="cancel"))),
    "complete": Command("", "done for now", lambda _v, _a: Send(c.Complete(type="complete"))),
    "rename": Command(
        "TITLE", "give the session a title", lambda _v, a: Send(c.Rename(type="rename", title=a), moves=False)
    ),
    "fork": Command("[VERSION]", "a new session from this one", _fork),
    "workflow": Command("NAME", "for the next request", _workflow),
    "remember": Command("TOOL always|writes|never|deny", "when to ask before this tool", _remember),
    "take": Command('TOOL {"name": value, …}', "act yourself, when it is in your hands", _take),
    "back": Command("TEXT", "hand it back to the planner", lambda _v, a: Send(c.HandBack(type="hand_back", content=a))),
    "tools": Command("[WORDS]", "the tools there are", _local("tools")),
    "memories": Command("[WORDS]", "what is remembered of earlier requests", _local("memories")),
    "inbox": Command("", "sessions that wait for a person", _local("inbox")),
    "budget": Command("tokens|cost N", "raise the budget", _budget),
    "path": Command("[NODE, NODE …]", "the path; with nodes: these instead of what is left of it", _path),
    "csv": Command("FILE", "save all rows of the last query", _local("csv")),
    "accept": Command("", "the answer is what was wanted", lambda _v, _a: _judge(saved=False)),
    "save": Command("", "accept the answer, and keep it in the library", lambda _v, _a: _judge(saved=True)),
    "library": Command("[WORDS]", "the answers that were accepted", _local("library")),
    "quit": Command("", "leave; the session stays", _local("quit")),
}
_SAME = {"exit": "quit", "close": "quit", "resume": "go", "continue": "go", "?": "help"}


def command(line: str, view: View) -> Doing:
    """What `/name argument` does."""
    name, _, argument = line.removeprefix("/").strip().partition(" ")
    name = _SAME.get(name.lower(), name.lower())
    found = COMMANDS.get(name)
    if not found:
        near = [known for known in COMMANDS if name and known.startswith(name)]
        if len(near) != 1:
            return Say(f"There is no /{name}. /help shows what there is.")
        name, found = near[0], COMMANDS[near[0]]
    argument = argument.strip()
    if not argument and found.usage and not found.usage.startswith("["):
        return Say(f"Usage: /{name} {found.usage}")
    try:
        return found.do(view, argument)
    except (ValueError, ValidationError):
        return Say(f"Usage: /{name} {found.usage}")
