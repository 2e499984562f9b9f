"""Rewrites a follow-up and its previous question as one question."""

import re
from collections.abc import Sequence

_OPENER = re.compile(
    r"^(?:please |can you |could you )*(?:how many|how much|what|which|who|list|show|give|find|count|number of|get|tell"
    r"|display|average|total|for each|where|when)\b",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:those|them|they|these|ones?|it|same|that|instead|their|its|(?:what|how) about)\b", re.IGNORECASE
)
_GOES_ON = re.compile(
    r"^(?:and|but|or|also|now|only|just|ok|then|so|same|the same|instead|what about|how about|by|per|in|to|from|for"
    r"|with|without|since|before|after|sort|order|sorted|put|top|make it|group|split|as an?)\b",
    re.IGNORECASE,
)


def rewrite(request: str, previous_question: str, feedback: Sequence[str] = ()) -> str:
    """One self-contained question. Follow-ups in the feedback are appended as well."""
    question = request.strip()
    if previous_question and not _alone(question):
        question = f"{_ended(previous_question)} {question}"
    for line in feedback:
        if goes_on(line.strip()):
            question = f"{_ended(question)} {line.strip()}"
    return question


def goes_on(request: str) -> bool:
    """Whether the request continues the previous question."""
    return bool(_GOES_ON.match(request))


def _alone(request: str) -> bool:
    """Whether the request is already a complete question."""
    if goes_on(request):
        return False
    return len(request.split()) > 3 and not (
        _BACK.search(request) if _OPENER.match(request) else len(request.split()) < 5
    )


def _ended(question: str) -> str:
    """The question with a final punctuation mark."""
    text = question.strip().rstrip(" ,;:")
    if text[-1:] in {"?", "!", "."}:
        return text
    return f"{text}{'?' if re.match(r'how|what|which|who|where|when', text, re.IGNORECASE) else '.'}"
