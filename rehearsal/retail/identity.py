"""Finds the customer by e-mail address, or by name and zip code."""

import re

from rehearsal.retail.request_state import FINDERS, Call, Document, NotPossible, ReadsNeeded, RequestState

ASK_IDENTITY = "May I have your e-mail address, or your full name and zip code?"
NOT_FOUND = "I could not find an account with these details."
NOT_LOOKED_UP = "I did not look your account up, because that was not approved."
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+")
_NAME = re.compile(r"\b(?:[Nn]ame is|I am|I'm|You are) ([A-Z][a-z]+) ([A-Z][a-z]+)\b")
_ZIP = re.compile(r"\bzip(?: code)?(?: is)? (\d{5})\b")


def emails(text: str) -> list[str]:
    """Every e-mail address once, in the order of the text."""
    return list(dict.fromkeys(match[0].rstrip(".") for match in _EMAIL.finditer(text)))


def names_with_zip(text: str) -> list[tuple[str, str, str]]:
    """First name, last name and zip code, for every name and every zip code that is called so."""
    names = dict.fromkeys(_NAME.findall(text))
    return [(first, last, code) for first, last in names for code in dict.fromkeys(_ZIP.findall(text))]


def identify(state: RequestState) -> str:
    """The customer's id. Raises ReadsNeeded, QuestionNeeded or NotPossible."""
    if state.user_id:
        return state.user_id
    text = "\n".join([state.message, state.request, *(answer for _, answer in state.answers), *state.feedback])
    calls = [Call("find_user_id_by_email", {"email": mail}, f"Find the customer {mail}") for mail in emails(text)]
    calls += [
        Call("find_user_id_by_name_zip", {"first_name": first, "last_name": last, "zip": code}, f"Find {first} {last}")
        for first, last, code in names_with_zip(text)
    ]
    tried = {past.key for past in state.past_calls}
    if fresh := [call for call in calls if call.key not in tried]:
        raise ReadsNeeded(fresh[0])
    looked_up = any(past.tool in FINDERS and past.status != "denied" for past in state.past_calls)
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
