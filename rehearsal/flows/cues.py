"""Words that tell what a request to a flow is: a complaint, a question about data, or small talk."""

from rehearsal.flows.questions import known_query
from rehearsal.flows.statements import STATEMENT
from rehearsal.matching import has_phrase, words_of

KINDS = {  # of complaints, the most serious first
    "damaged": ("damaged", "broken", "smashed", "cracked", "dented", "leaks", "doesnt work", "does not work"),
    "wrong_item": ("the wrong", "not what i ordered"),
    "late": ("late", "waiting", "never arrived", "where is my"),
    "unwanted": ("cancel", "no longer need", "changed my mind", "by mistake", "too small", "too big"),
}
CANCEL = ("cancel",)
RETURN = ("return", "returning", "send it back", "take it back")
PERSON = ("human", "manager", "lawyer", "talk to a person", "speak to a person")
KEEP = ("do not want to cancel", "dont want to cancel", "do not cancel", "do not return", "just wanted you to know")
COMPLAINT = ("complain", "complaint")
_TALK = {"hi", "hello", "hey", "thanks", "thank"}
_QUESTION = ("how many", "how much", "which", "what", "who", "list", "count", "average", "number of")


def kind_of(text: str) -> str:
    """The kind of complaint that the text makes; "" for none."""
    return next((kind for kind, phrases in KINDS.items() if has_phrase(text, phrases)), "")


def is_complaint(text: str) -> bool:
    """Whether it complains about something that the user bought."""
    if has_phrase(text, COMPLAINT):
        return True
    return bool(kind_of(text) or has_phrase(text, (*PERSON, *RETURN))) and not is_question(text)


def is_question(text: str) -> bool:
    """Whether it asks for data, or contains a query."""
    begin = " ".join(words_of(text)[:2])
    return bool(known_query(text) or STATEMENT.search(text) or has_phrase(begin, _QUESTION))


def is_talk(text: str) -> bool:
    """Whether it is a greeting, or a question about the model."""
    return bool(_TALK & set(words_of(text)[:1])) or has_phrase(text, ("can you do", "what are you", "who are you"))


def wants_words(text: str) -> bool:
    """Whether it asks what a statement means, rather than for its result."""
    match = STATEMENT.search(text)
    return match is not None and has_phrase(text[: match.start()], ("explain", "describe", "what does"))
