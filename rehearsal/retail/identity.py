"""Who is speaking: by e-mail address, or by name and zip code, in whatever form they are given."""

import re

from rehearsal.retail.addresses import find_addresses
from rehearsal.retail.state import Ask, Call, Document, Need, Refused, State
from rehearsal.retail.words import words

WHO = "May I have your e-mail address, or your full name and zip code?"
NOT_FOUND = "I could not find an account with these details."
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ZIP = re.compile(r"(?<![\w#@$.-])\d{5}(?![\w@-]|\.\d)")
_PART = r"[A-Z][a-zA-Z'-]+"
_CUED = re.compile(
    rf"(?i:\b(?:names? is|name's|i am|this is|it is|you are|called|name ?[:=-]|regards,?|thanks,?|thank you,?|hi,?"
    rf"|from)"
    rf"\s+(?:the )?)({_PART})\s+({_PART})"
)
_PAIR = re.compile(rf"(?=\b({_PART})\s+({_PART})\b)")
_LOWER = re.compile(
    r"\b([a-z][a-z'-]+) ([a-z][a-z'-]+)(?=[.,;:/()\s-]+(?:my |and |with |in |the |btw |here )*(?:(?:zip"
    r"|postal)[ a-z:]*)?\d{5}\b)"
)
_USER_ID = re.compile(r"\b([a-z]+)_([a-z]+)_\d{4}\b")
_NO_NAME = frozenset(
    words(
        "hi hello hey dear you your please order the my this that name zip code email good evening morning afternoon "
        "day i thanks thank kind best regards team sir madam street avenue road lane drive apt suite unit paypal "
        "visa mastercard and is in with from at for to what can could would cancel return exchange refund want need "
        "not it a an gift card here me im customer support service united states number address phone again"
    )
)


def emails(text: str) -> list[str]:
    """Every address once, as it first stands there."""
    return list(dict.fromkeys(match[0].rstrip(".") for match in _EMAIL.finditer(text)))


def people(text: str) -> list[tuple[str, str, str]]:
    """First name, last name and zip code; likeliest first."""
    zips = _zips(text)
    named = [(*_person(match), match.start(1)) for pattern in (_CUED, _PAIR) for match in pattern.finditer(text)]
    named += [(*_person(match), match.start(1)) for match in _LOWER.finditer(text)]
    named += [(match[1].title(), match[2].title(), match.start()) for match in _USER_ID.finditer(text.lower())]
    names = [one for one in named if not {one[0].lower(), one[1].lower()} & _NO_NAME]
    cued = {match.start(1) for match in _CUED.finditer(text)}
    ranked = sorted(
        ((at not in cued, abs(place - at), first, last, code) for first, last, at in names for code, place in zips)
    )
    return list(dict.fromkeys((first, last, code) for _, _, first, last, code in ranked))


def _person(match: re.Match[str]) -> tuple[str, str]:
    return match[1].strip("'-"), match[2].strip("'-")


def _zips(text: str) -> list[tuple[str, int]]:
    """Zip codes that are no part of an address; those that are called zip code first."""
    inside = [span for _, span in find_addresses(text)]
    found = [match for match in _ZIP.finditer(text) if not any(a <= match.start() < b for a, b in inside)]
    called = [
        m for m in found if re.search(r"(?:zip|postal|post)\W*(?:code)?\W*(?:is|:)?\W*$", text[: m.start()].lower())
    ]
    return [(match[0], match.start()) for match in called or found]


def identify(state: State) -> str:
    """The customer's id. Raises Need or Ask."""
    if state.user_id:
        return state.user_id
    text = "\n".join([state.request, *(answer for _, answer in state.said), state.feedback, state.previous])
    tried = _calls(text)
    fresh = [call for call in tried if call.key not in state.by_key]
    by_mail = [call for call in fresh if call.tool == "find_user_id_by_email"]
    if by_mail:
        raise Need(*by_mail)
    if fresh:
        raise Need(fresh[0])
    question = f"{NOT_FOUND} {WHO}" if tried else WHO
    if not any(asked.strip() == question for asked, _ in state.said):
        raise Ask(question)
    raise Refused("I could not find your account, so I may not look at or change any order.")


def _calls(text: str) -> list[Call]:
    mails = [Call("find_user_id_by_email", {"email": mail}) for mail in emails(text)]
    return mails + [
        Call("find_user_id_by_name_zip", {"first_name": first, "last_name": last, "zip": code})
        for first, last, code in people(text)[:3]
    ]


def customer(state: State, *, leaf: bool = False) -> Document:
    """The customer's own document. Raises Need, Ask or Refused."""
    user_id = identify(state)
    document = state.look("get_user_details", user_id, leaf=leaf)
    if document is None:
        raise Refused("your account could not be read.")
    return {"user_id": user_id, **document}
