"""What can be chosen now, and what a typed line means. Pure."""

from dataclasses import replace
from typing import NamedTuple

from cli.chat import forms
from cli.chat.decisions import NOTHING, approve, approve_all, refusal, reject, replan
from cli.chat.doing import Doing, Local, More, Say, Send
from cli.chat.state import Ask, View
from parley.protocol import client as c
from parley.protocol.words import ACTIONS, HINTS, OPTIONS, REVIEW, TERMINAL


class Choice(NamedTuple):
    """One numbered choice: its word can be typed, too."""

    word: str
    label: str


_REVIEW = (
    Choice("approve", ACTIONS["approve"]),
    Choice("feedback", ACTIONS["ask_for_changes"]),
    Choice("edit", ACTIONS["edit"]),
    Choice("replan", ACTIONS["different_plan"]),
    Choice("discard", ACTIONS["discard_plan"]),
)
_CODE = tuple(one._replace(label=ACTIONS["different_code"]) if one.word == "replan" else one for one in _REVIEW)
_DECIDE = (
    Choice("yes", ACTIONS["approve"]),
    Choice("always", ACTIONS["approve_always"]),
    Choice("no", ACTIONS["decline"]),
    Choice("reason", ACTIONS["decline_why"]),
)
_LEAVE = (Choice("skip", ACTIONS["skip"]), Choice("stop", ACTIONS["stop"]))


_CHANGE = Choice("edit", ACTIONS["edit_first"])
_SAME = {"y": "yes", "approve": "yes", "remember": "always", "n": "no", "decline": "no", "deny": "no", "why": "reason"}


# The client message that a choice sends, where it is another word.
_SENDS = dict.fromkeys(("approve", "yes", "always", "all", "no", "reason"), "approval") | {
    "discard": "cancel",
    "start": "retry",
}


def choices(view: View) -> tuple[Choice, ...]:  # noqa: PLR0911  one line a question
    """The numbered choices of what is asked, as far as they would be carried out; () where only words are wanted."""
    ask = view.ask
    match ask.kind if ask else None:
        case "plan":
            return _possible(view, _REVIEW)
        case "code":
            return _possible(view, _CODE, edit="edit_code")
        case "actions":
            first = ask.actions[0] if ask and ask.actions else None
            change = (_CHANGE,) if first and first.arguments and "." in first.tool else ()
            count = len(ask.actions) if ask else 0
            all_of_them = (Choice("all", ACTIONS["approve_all"].format(count=count)),) if count > 1 else ()
            return _possible(view, (*_DECIDE, *all_of_them, *_LEAVE, *change), edit="edit_path")
        case "question":  # where tables are asked for, numbers are theirs
            return () if forms.tables(ask) else _options(ask)
        case "stopped":
            return (*_possible(view, (Choice("retry", ACTIONS["resume"]),)), *_options(ask))
        case "rest":
            starts = view.stands is not None and view.stands.reason == "approved"
            word = "start" if starts else "retry"
            return (*_possible(view, (Choice(word, ACTIONS[word]),)), *_options(ask))
        case "failed":
            helps = view.stands and view.stands.failure and view.stands.failure.retryable
            again = (Choice("retry", ACTIONS["retry"]),) if helps else ()
            return _possible(view, (*again, Choice("complete", ACTIONS["done"])))
        case _:
            return ()


def _possible(view: View, offered: tuple[Choice, ...], *, edit: str = "edit") -> tuple[Choice, ...]:
    sends = _SENDS | {"edit": edit}
    return tuple(choice for choice in offered if sends.get(choice.word, choice.word) in view.can)


def _options(ask: Ask | None) -> tuple[Choice, ...]:
    return tuple(Choice(option, OPTIONS.get(option, option)) for option in (ask.options if ask else ()))


def hint(ask: Ask | None) -> str:  # noqa: C901, PLR0911  one line a question
    """What can be typed besides a number."""
    match ask.kind if ask else None:
        case "start" | "completed":
            return HINTS["start"]
        case "plan" | "code":
            return HINTS["review"]
        case "feedback":
            return REVIEW["feedback"]
        case "reason":
            return REVIEW["why_not"]
        case "question" if ask and forms.tables(ask):
            return HINTS["tables"]
        case "question" if ask and _fields(ask):
            return HINTS["form"]
        case "question":
            return HINTS["options"] if ask and ask.options else HINTS["question"]
        case "actions":
            return HINTS["actions"]
        case "rest" | "stopped" | "failed":
            return HINTS["rest"]
        case "escalated":
            return HINTS["escalated"]
        case _:
            return HINTS["working"]


def _fields(ask: Ask) -> tuple[forms.Field, ...]:
    return forms.fields(ask.question.form) if ask.question else ()


def understand(line: str, view: View) -> Doing:  # noqa: PLR0911  one way out for each thing a line can mean
    """What a line that does not begin with / means now."""
    line = line.strip()
    ask = view.ask
    if ask and ask.kind == "question" and (offered := forms.tables(ask)):
        return Send(c.AnswerReply(type="answer", content=forms.picked(line, offered), question_id=_question_id(ask)))
    if ask and ask.kind == "question" and line and (wanted := _fields(ask)):
        answer = forms.form_answer(line, wanted)
        return Send(c.AnswerReply(type="answer", content=answer, question_id=_question_id(ask)))
    if not line:
        return More(ask.back) if ask and ask.back else Say("")
    if ask is None and line.isdigit():
        return Say(TERMINAL["not_yet"])
    if ask is None:
        return Send(c.UserMessage(type="user_message", content=line), moves=False)
    if picked := _picked(line, choices(view)):
        return pick(picked, view)
    if line.isdigit() and choices(view):
        return Say(TERMINAL["no_choice"].format(number=line, count=len(choices(view))))
    return _words(line, ask)


def _picked(line: str, offered: tuple[Choice, ...]) -> str | None:
    if line.isdigit() and 1 <= int(line) <= len(offered):
        return offered[int(line) - 1].word
    word = line.casefold()
    wanted = {word, _SAME.get(word, word)}
    return next((choice.word for choice in offered if choice.word.casefold() in wanted), None)


def chosen(line: str, view: View) -> str:
    """The label of the choice that a typed number stands for, to be shown after it; "" if it stands for none."""
    offered = choices(view)
    return f" {offered[int(line) - 1].label}" if line.isdigit() and 1 <= int(line) <= len(offered) else ""


def _words(line: str, ask: Ask) -> Doing:
    match ask.kind:
        case "feedback":
            return Send(c.Feedback(type="feedback", content=line))
        case "question":
            return Send(c.AnswerReply(type="answer", content=line, question_id=_question_id(ask)))
        case "actions":
            return Say(TERMINAL["action_first"])
        case "reason" if ask.actions:
            return Send(refusal(ask.actions[0], line))
        case "escalated":
            return Send(c.HandBack(type="hand_back", content=line))
        case _:
            return Send(c.UserMessage(type="user_message", content=line))


def _question_id(ask: Ask) -> str | None:
    return ask.question.question_id if ask.question else None


def pick(word: str, view: View) -> Doing:  # noqa: C901, PLR0911, PLR0912  one line a choice
    """What choosing this word does; an option of a question or of `continue` goes to the gateway as it is."""
    ask = view.ask
    if ask and ask.kind == "question":
        return Send(c.AnswerReply(type="answer", content=word, question_id=_question_id(ask)))
    if ask and ask.kind in ("rest", "stopped") and word in ask.options:
        return Send(c.ContinueChoice(type="continue", content=word))
    match word:
        case "approve" | "yes":
            return approve(view)
        case "always":
            return approve(view, remember=True)
        case "all":
            return approve_all(view)
        case "no":
            return reject(view)
        case "reason" if ask:
            return More(replace(ask, kind="reason", back=ask))
        case "feedback":
            return More(Ask("feedback", back=ask))
        case "edit":
            return Local("edit")
        case "replan":
            return replan(view)
        case "skip":
            return Send(c.Skip(type="skip", action_id=ask.actions[0].action_id)) if ask and ask.actions else NOTHING
        case "discard":
            return Send(c.Cancel(type="cancel"))
        case "stop":
            return Send(c.Stop(type="stop"))
        case "retry" | "start":
            return Send(c.Retry(type="retry"))
        case "complete":
            return Send(c.Complete(type="complete"))
        case _:
            return NOTHING
