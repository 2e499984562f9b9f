"""What a request asks for that no node does: suggested as a new node, for people to look at."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rehearsal.flows.graph import Flow
from rehearsal.flows.words import plain

_RESULT = (
    r"(?:it|them|this|that|these|the (?:\w+ )?(?:results?|answer|list|report|table|data|reply|numbers|output|summary"
    r"|rows))"
)
_ME = r"(?:me|us|him|her|everyone|the team|my \w+|our \w+)"


class Deed(NamedTuple):
    """A deed that requests speak of; a node whose text holds one of `covers` does it."""

    name: str
    description: str
    words: re.Pattern[str]
    covers: re.Pattern[str]


DEEDS = (
    Deed(
        "send_email",
        "Sends what was found as an e-mail to an address that the person has approved.",
        re.compile(
            rf"\be-?mail (?:{_RESULT}|{_ME})\b|\b(?:send|forward|mail|write) [^.;!?]{{0,40}}\b(?:by|via|as an"
            rf"|in an|per) e-?mail\b"
            rf"|\bmail {_RESULT} to\b|\b(?:send|forward) {_RESULT} to \S+@\S+|\bsend (?:{_ME} )?an e-?mail\b"
        ),
        re.compile(r"\be-?mails? (?:it|the|them|a)\b|\bsends? [^.]{0,30}e-?mail\b"),
    ),
    Deed(
        "post_message",
        "Posts what was found to a channel of a messenger that the person has approved.",
        re.compile(
            r"\b(?:post|send|share|put)\b[^.;!?]{0,40}\b(?:slack|teams|discord|telegram|whatsapp|sms|channel)\b"
            r"|\btext me\b"
        ),
        re.compile(r"\b(?:slack|messenger|channel)\b"),
    ),
    Deed(
        "write_document",
        "Writes what was found to a document (PDF, Excel or Word) that the person can keep.",
        re.compile(
            r"\b(?:as|to|into|in) (?:an? |the )?(?:\w+ )?(?:pdf|excel|xlsx?|word|docx?|powerpoint|pptx?|spreadsheet|"
            r"google sheets?)\b|\b(?:pdf|excel|xlsx|powerpoint) (?:file|report|version|document|sheet|of)\b"
        ),
        re.compile(r"\b(?:pdf|excel|spreadsheet|document)s?\b", re.IGNORECASE),
    ),
    Deed(
        "translate_answer",
        "Translates the answer into the language that the person names.",
        re.compile(
            r"\btranslate\b|\b(?:answer|reply|respond|write)[^.;!?]{0,30}\bin (?:french|german|spanish|italian"
            r"|chinese|japanese)\b"
        ),
        re.compile(r"\btranslat\w+|\blanguages?\b"),
    ),
    Deed(
        "schedule_run",
        "Runs the same request again at times that the person sets.",
        re.compile(
            r"\b(?:schedule|remind me|repeat (?:it|this|that))\b|\bevery (?:monday|tuesday|wednesday|thursday"
            r"|friday|saturday|sunday|"
            r"morning|evening)\b|\b(?:run|send|do|refresh|update) [^.;!?]{0,40}\b(?:every|each) (?:day|week"
            r"|month|hour)\b"
        ),
        re.compile(r"\bschedul\w+|\brepeatedly\b"),
    ),
    Deed(
        "notify_person",
        "Watches a value and tells the person when it passes a limit.",
        re.compile(r"\b(?:alert|notify|warn|ping) (?:me|us)\b|\b(?:tell|let) me know? (?:when|as soon as|once)\b"),
        re.compile(r"\b(?:notif\w+|alerts?|watch\w*)\b"),
    ),
    Deed(
        "forecast_values",
        "Projects a series of values into the future and says how sure that is.",
        re.compile(r"\b(?:forecast|predict|extrapolate)\b"),
        re.compile(r"\b(?:forecast\w*|predict\w*)\b"),
    ),
    Deed(
        "give_voucher",
        "Gives the customer a voucher, within limits that a person has set.",
        re.compile(r"\b(?:voucher|coupon|gift card|discount|compensation|store credit)\b(?=[^.;!?]*)"),
        re.compile(r"\b(?:vouchers?|coupons?|discounts?|compensat\w+)\b"),
    ),
    Deed(
        "call_customer",
        "Arranges a call with the customer at a time that suits.",
        re.compile(
            r"\b(?:call (?:me|us|them|him|her) back|(?:phone|ring) (?:me|the customer|them)|call (?:the customer"
            r"|me) (?:on|at|by))\b"
        ),
        re.compile(r"\b(?:phones?|calls? the (?:customer|person))\b"),
    ),
)
_WRITES_ONLY = frozenset({"give_voucher", "call_customer"})


def new_node(flows: Sequence[Flow], request: str) -> dict[str, str] | None:
    """The suggestion, None where every wish is some node's work (or is none that is known)."""
    lower = plain(request)
    flow = flows[-1]
    for deed in DEEDS:
        found = deed.words.search(lower)
        acts = any(node.effect != "read" for one in flows for node in one.nodes.values())
        if not found or (deed.name in _WRITES_ONLY and not acts):
            continue
        if not any(deed.covers.search(node.description.lower()) for one in flows for node in one.nodes.values()):
            why = f"The request says “{found[0].strip()}”, and no node of {flow.name} does that."
            return {"flow": flow.name, "name": deed.name, "description": deed.description, "why": why}
    return None
