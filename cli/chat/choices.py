"""The choices offered now, and what a typed line means. Pure."""

from dataclasses import replace
from typing import NamedTuple

from cli.chat import forms
from cli.chat.effects import (
    NOTHING_TO_DECIDE,
    AskFurther,
    ChatEffect,
    RunLocally,
    SendMessage,
    ShowText,
    approve,
    approve_all,
    decide_offer,
    refusal,
    reject,
    replan,
)
from cli.chat.state import ChatView, InputRequest, RequestKind
from parley.protocol import client as c
from parley.protocol.words import ACTIONS, HINTS, OPTIONS, REVIEW, TERMINAL


class Choice(NamedTuple):
    """One numbered choice; the user can type its number or its word."""

    word: str
    label: str


_REVIEW = (
    Choice("approve", ACTIONS["approve"]),
    Choice("feedback", ACTIONS["ask_for_changes"]),
    Choice("edit", ACTIONS["edit"]),
    Choice("replan", ACTIONS["different_plan"]),
    Choice("discard", ACTIONS["discard_plan"]),
)
_CODE = tuple(
    choice._replace(label=ACTIONS["different_code"]) if choice.word == "replan" else choice for choice in _REVIEW
)
_DECIDE = (
    Choice("yes", ACTIONS["approve"]),
    Choice("always", ACTIONS["approve_always"]),
    Choice("no", ACTIONS["decline"]),
    Choice("reason", ACTIONS["decline_why"]),
)
_LEAVE = (Choice("skip", ACTIONS["skip"]), Choice("stop", ACTIONS["stop"]))


_OFFER = (Choice("take", ACTIONS["take_offer"]), Choice("keep", ACTIONS["keep_offer"]))
_CHANGE = Choice("edit", ACTIONS["edit_first"])
_SYNONYMS = {
    "y": "yes",
    "approve": "yes",
    "remember": "always",
    "n": "no",
    "decline": "no",
    "deny": "no",
    "why": "reason",
}


_MESSAGES: dict[str, c.ClientMessage] = {  # of choices that always send the same
    "discard": c.Cancel(type="cancel"),
    "stop": c.Stop(type="stop"),
    "retry": c.Retry(type="retry"),
    "start": c.Retry(type="retry"),
    "complete": c.Complete(type="complete"),
}
# The type of message that a choice sends, if it differs from the choice's word.
_MESSAGE_TYPES = dict.fromkeys(("approve", "yes", "always", "all", "no", "reason"), "approval") | {
    "discard": "cancel",
    "start": "retry",
    "take": "take_offer",
    "keep": "keep_offer",
}
_OFFER_SYNONYMS = {"y": "take", "yes": "take", "n": "keep", "no": "keep"}


def choices(view: ChatView) -> tuple[Choice, ...]:  # noqa: PLR0911  one case per request
    """The numbered choices that the session accepts now; () if only text is expected."""
    request = view.request
    match request.kind if request else None:
        case "plan":
            return _allowed(view, _REVIEW)
        case "code":
            return _allowed(view, _CODE, edit="edit_code")
        case "actions":
            first = request.actions[0] if request and request.actions else None
            change = (_CHANGE,) if first and first.arguments and "." in first.tool else ()
            count = len(request.actions) if request else 0
            all_of_them = (Choice("all", ACTIONS["approve_all"].format(count=count)),) if count > 1 else ()
            return _allowed(view, (*_DECIDE, *all_of_them, *_LEAVE, *change), edit="edit_path")
        case "offer":
            return _allowed(view, _OFFER)
        case "question":  # a number selects a table, if the question is about tables
            return () if forms.table_options(request) else _options(request)
        case "stopped":
            return (*_allowed(view, (Choice("retry", ACTIONS["resume"]),)), *_options(request), *_next(view))
        case "rest":
            starts = view.sections is not None and view.sections.reason == "approved"
            word = "start" if starts else "retry"
            return (*_allowed(view, (Choice(word, ACTIONS[word]),)), *_options(request), *_next(view))
        case "failed":
            can_retry = view.sections and view.sections.failure and view.sections.failure.retryable
            retry = (Choice("retry", ACTIONS["retry"]),) if can_retry else ()
            return _allowed(view, (*retry, Choice("complete", ACTIONS["done"])))
        case _:
            return ()


def _allowed(view: ChatView, offered: tuple[Choice, ...], *, edit: str = "edit") -> tuple[Choice, ...]:
    message_types = _MESSAGE_TYPES | {"edit": edit}
    return tuple(choice for choice in offered if message_types.get(choice.word, choice.word) in view.allowed)


def _options(request: InputRequest | None) -> tuple[Choice, ...]:
    return tuple(Choice(option, OPTIONS.get(option, option)) for option in (request.options if request else ()))


def _next(view: ChatView) -> tuple[Choice, ...]:
    """The messages that the answer proposes."""
    answer = view.sections.answer if view.sections and "user_message" in view.allowed else None
    return tuple(Choice(message, message) for message in (answer.next if answer else ()))


_HINTS: dict[RequestKind, str] = {
    **dict.fromkeys(("start", "completed"), HINTS["start"]),
    **dict.fromkeys(("plan", "code"), HINTS["review"]),
    **dict.fromkeys(("rest", "stopped", "failed"), HINTS["rest"]),
    "feedback": REVIEW["feedback"],
    "reason": REVIEW["why_not"],
    "actions": HINTS["actions"],
    "offer": HINTS["offer"],
    "escalated": HINTS["escalated"],
}


def hint(request: InputRequest) -> str:
    """What the user can type besides a number."""
    if request.kind != "question":
        return _HINTS[request.kind]
    if forms.table_options(request):
        return HINTS["tables"]
    if _fields(request):
        return HINTS["form"]
    if request.options:
        return HINTS["several"] if request.takes_several else HINTS["options"]
    return HINTS["question"]


def _fields(request: InputRequest) -> tuple[forms.FormField, ...]:
    return forms.form_fields(request.question.form) if request.question else ()


def interpret(line: str, view: ChatView) -> ChatEffect:  # noqa: PLR0911  one return per meaning
    """The effect of a line that does not begin with /."""
    line = line.strip()
    request = view.request
    if request and request.kind == "question" and (offered := forms.table_options(request)):
        return SendMessage(
            c.AnswerReply(type="answer", content=forms.tables_answer(line, offered), question_id=_question_id(request))
        )
    if request and request.kind == "question" and line and (words := _fields(request)):
        answer = forms.form_answer(line, words)
        return SendMessage(c.AnswerReply(type="answer", content=answer, question_id=_question_id(request)))
    if not line:
        return AskFurther(request.previous) if request and request.previous else ShowText("")
    if request is None and line.isdigit():
        return ShowText(TERMINAL["not_yet"])
    if request is None:
        return SendMessage(c.UserMessage(type="user_message", content=line), is_answer=False)
    if request.takes_several and (labels := _several(line, choices(view))):
        return effect_of_choice("; ".join(labels), view)
    if word := _matching_choice(line, choices(view)):
        return effect_of_choice(word, view)
    if line.isdigit() and choices(view):
        return ShowText(TERMINAL["no_choice"].format(number=line, count=len(choices(view))))
    return _effect_of_text(line, request)


def _matching_choice(line: str, offered: tuple[Choice, ...]) -> str | None:
    if line.isdigit() and 1 <= int(line) <= len(offered):
        return offered[int(line) - 1].word
    word = line.casefold()
    words = {word, _SYNONYMS.get(word, word), _OFFER_SYNONYMS.get(word, word)}
    return next((choice.word for choice in offered if choice.word.casefold() in words), None)


def _several(line: str, offered: tuple[Choice, ...]) -> list[str]:
    """The labels that these numbers stand for, in the order of the options; none if the line has anything else."""
    numbers = line.replace(",", " ").split()
    labels = {str(number): choice.label for number, choice in enumerate(offered, 1)}
    return [labels[number] for number in labels if number in numbers] if labels.keys() >= set(numbers) else []


def choice_label(line: str, view: ChatView) -> str:
    """The label to show after a typed number; "" if the number is not a choice."""
    offered = choices(view)
    if view.request and view.request.takes_several:
        chosen = "; ".join(_several(line, offered))
        return f" {chosen}" if chosen else ""
    return f" {offered[int(line) - 1].label}" if line.isdigit() and 1 <= int(line) <= len(offered) else ""


def _effect_of_text(line: str, request: InputRequest) -> ChatEffect:
    match request.kind:
        case "feedback":
            return SendMessage(c.Feedback(type="feedback", content=line))
        case "question":
            return SendMessage(c.AnswerReply(type="answer", content=line, question_id=_question_id(request)))
        case "actions":
            return ShowText(TERMINAL["action_first"])
        case "reason" if request.actions:
            return SendMessage(refusal(request.actions[0], line))
        case "escalated":
            return SendMessage(c.HandBack(type="hand_back", content=line))
        case _:
            return SendMessage(c.UserMessage(type="user_message", content=line))


def _question_id(request: InputRequest) -> str | None:
    return request.question.question_id if request.question else None


def effect_of_choice(word: str, view: ChatView) -> ChatEffect:  # noqa: C901, PLR0911, PLR0912  one case per choice
    """The effect of choosing this word; options of a question or of `continue` are sent unchanged."""
    request = view.request
    if request and request.kind == "question":
        return SendMessage(c.AnswerReply(type="answer", content=word, question_id=_question_id(request)))
    if request and request.kind in ("rest", "stopped") and word in request.options:
        return SendMessage(c.ContinueChoice(type="continue", content=word))
    match word:
        case "approve" | "yes":
            return approve(view)
        case "always":
            return approve(view, remember=True)
        case "all":
            return approve_all(view)
        case "no":
            return reject(view)
        case "reason" if request:
            return AskFurther(replace(request, kind="reason", previous=request))
        case "take" | "keep":
            return decide_offer(view, taken=word == "take")
        case "feedback":
            return AskFurther(InputRequest("feedback", previous=request))
        case "edit":
            return RunLocally("edit")
        case "replan":
            return replan(view)
        case "skip":
            return (
                SendMessage(c.Skip(type="skip", action_id=request.actions[0].action_id))
                if request and request.actions
                else NOTHING_TO_DECIDE
            )
        case _ if message := _MESSAGES.get(word):
            return SendMessage(message)
        case _ if Choice(word, word) in _next(view):
            return SendMessage(c.UserMessage(type="user_message", content=word))
        case _:
            return NOTHING_TO_DECIDE


def auto_approval(view: ChatView) -> ChatEffect | None:
    """With --yes, approve what is in review and accept proposed tables. Other questions need a user."""
    if view.request and view.request.kind in ("plan", "code", "actions"):
        return approve(view)
    return interpret("yes", view) if forms.table_options(view.request) else None
