"""Finds the customer by e-mail address, or by name and zip code."""

import re

from rehearsal.retail.addresses import find_addresses
from rehearsal.retail.request_state import FINDERS, Call, Document, NotPossible, ReadsNeeded, RequestState

ASK_IDENTITY = "May I have your e-mail address, or your full name and zip code?"
NOT_FOUND = "I could not find an account with these details."
NOT_LOOKED_UP = "I did not look your account up, because that was not approved."
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ZIP = re.compile(r"(?<![\w#@$.-])\d{5}(?![\w@-]|\.\d)")
_CUE = r"(?i:\b(?:name is|name:|i am|this is|it is|you are|from|regards,?|thanks,?|sincerely,?)\s+)"
_NAME = re.compile(rf"(?P<cue>{_CUE})?\b(?P<first>[A-Z][a-z'-]+) (?P<last>[A-Z][a-z'-]+)\b")
_SMALL = re.compile(r"\b(?P<first>[a-z]+) (?P<last>[a-z]+)(?=[\s,.(/-]+(?:zip )?\d{5}\b)")
_NO_NAME = re.compile(
    r"(?i)\b(?:hi|hello|dear|please|order|the|my|zip|code|kind|best|regards|gift|card|pay|pal|united|states|i|am|you|"
    r"your|thanks|is|and|to|for|from|it|in|of|new|address)\b"
)


def emails(text: str) -> list[str]:
    """Every e-mail address once, in the order of the text."""
    return list(dict.fromkeys(match[0].rstrip(".") for match in _EMAIL.finditer(text)))


def names_with_zip(text: str) -> list[tuple[str, str, str]]:
    """First name, last name and zip code, likeliest first."""
    inside = [span for _, span in find_addresses(text)]
    zips = [
        zip_match
        for zip_match in _ZIP.finditer(text)
        if not any(start <= zip_match.start() < end for start, end in inside)
    ]
    names = [match for match in _NAME.finditer(text) if not _NO_NAME.search(f"{match['first']} {match['last']}")]
    names = names or [match for match in _SMALL.finditer(text) if not _NO_NAME.search(match[0])]
    ranked = sorted(
        (not match.groupdict().get("cue"), abs(match.start() - code.start()), match["first"], match["last"], code[0])
        for match in names
        for code in zips
    )
    return list(dict.fromkeys((first.title(), last.title(), code) for _, _, first, last, code in ranked))


def without_identity(text: str) -> str:
    """The text without e-mail addresses and labelled zip codes. (`zip` alone stays: a hoodie may have one.)"""
    return re.sub(r"(?i)\b(?:zip|postal)(?: code)?(?: is|:)? ?\d{5}\b", " ", _EMAIL.sub(" ", text))


def identify(state: RequestState) -> str:
    """The customer's id. Raises ReadsNeeded, QuestionNeeded or NotPossible."""
    if state.user_id:
        return state.user_id
    text = "\n".join(
        [state.message, state.request, *(answer for _, answer in state.answers), *state.feedback, state.previous_text]
    )
    calls = [Call("find_user_id_by_email", {"email": mail}, f"Find the customer {mail}") for mail in emails(text)]
    calls += [
        Call("find_user_id_by_name_zip", {"first_name": first, "last_name": last, "zip": code}, f"Find {first} {last}")
        for first, last, code in names_with_zip(text)[:2]
    ]
    tried = {past.key for past in state.past_calls}
    if fresh := [call for call in calls if call.key not in tried]:
        raise ReadsNeeded(fresh[0])
    looked_up = any(past.tool in FINDERS and past.status not in ("denied", "skipped") for past in state.past_calls)
    why = NOT_FOUND if looked_up else NOT_LOOKED_UP
    state.ask(f"{why} {ASK_IDENTITY}" if calls else ASK_IDENTITY)
    raise NotPossible("I do not know your account, so I may not look at or change any order.")


def customer(state: RequestState) -> Document:
    """The customer's own document. Raises ReadsNeeded, QuestionNeeded or NotPossible."""
    user_id = identify(state)
    document = state.document("get_user_details", user_id)
    if document is None:
        raise NotPossible("your account could not be read.")
    return {"user_id": user_id, **document}
