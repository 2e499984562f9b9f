"""What the triage of complaints asks a model: what a complaint says, what can be done, and the reply to it."""

import json
import re
from typing import Any

from rehearsal.flows.kinds import (
    ANGRY,
    CANCEL,
    CONTENT,
    ORDER_ID,
    PERSON,
    RETURN,
    categories,
    meant,
    straight,
)
from rehearsal.flows.words import LONGEST
from rehearsal.prompt import Prompt
from rehearsal.retail.identity import emails, people

_URGENT = re.compile(
    r"\burgen\w*|\basap\b|\bas soon as possible\b|\bimmediately\b|\bright (?:now|away)\b|\bcannot wait\b|\bcan't wait\b"
    r"|\b(?:by|before|until) (?:today|tonight|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
    r"|\btoday\b(?=[.!]*$)"
    r"|\binjur\w*|\bdangerous\b|\bcaught fire\b|\bsmok(?:e|ing)\b|\bhurt\b|\bbleeding\b|\bemergency\b"
)
_PART = r"[A-Z][a-zA-Z'-]+"
_NAME = re.compile(
    rf"(?i:\b(?:name is|name's|this is|i am|i'm|regards,?|thanks,?|sincerely,?|yours,?|name ?[:=])|^\s*[-–—])\s+"
    rf"({_PART})\s+({_PART})|\b({_PART})\s+({_PART})(?=,? here\b)|({_PART})\s+({_PART})\s*$",
    re.MULTILINE,
)
_ZIP = re.compile(r"\b(?:zip|postal|post)\W*(?:code)?\W*(?:is\W*)?(\d{5})\b", re.IGNORECASE)
_NO_NAME = frozenset(
    re.findall(
        r"\w+",
        "i the my your our a an please hi hello hey dear thanks thank kind best regards team sir madam good morning so"
        " order very not just still really unhappy angry it this that cancel return refund",
    )
)


def answer_complaint(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `complaint_triage.classify_complaint`; what is not said is empty."""
    said = _said(prompt)
    lower = straight(said)
    findings = prompt["findings"][:LONGEST]
    first, last, code = _who(said)
    return {
        "category": next(iter(categories(said)), "other"),
        "order_id": _order(said) or _only_order(findings),
        "email": next(iter(emails(said)), "") or _only(emails(findings)),
        "first_name": first,
        "last_name": last,
        "zip": code,
        "urgent": bool(_URGENT.search(lower) or ANGRY.search(lower) or PERSON.search(lower)),
    }


def _said(prompt: Prompt) -> str:
    """All that the customer said, what came later below it."""
    return "\n".join(prompt[tag][:LONGEST] for tag in ("request", "details", "feedback") if prompt[tag])


def _order(text: str) -> str:
    """The order that was named last: a correction comes after what it corrects."""
    found = ORDER_ID.findall(text)
    return f"#{found[-1].lstrip('#').upper()}" if found else ""


def _only_order(findings: str) -> str:
    return _only([f"#{one.lstrip('#').upper()}" for one in ORDER_ID.findall(findings)])


def _only(found: list[str]) -> str:
    """The one value there is; of several it is not known which one is meant."""
    return found[0] if len(set(found)) == 1 else ""


def _who(said: str) -> tuple[str, str, str]:
    """First name, last name and zip code, each as far as it is told."""
    if known := people(said):
        return known[0]
    for match in _NAME.finditer(said):
        parts = [part for part in match.groups() if part]
        if not {part.lower() for part in parts} & _NO_NAME:
            return parts[0], parts[1], _zip(said)
    return "", "", _zip(said)


def _zip(said: str) -> str:
    found = _ZIP.search(said)
    return found[1] if found else ""


def assess_complaint(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `complaint_triage.assess`: what this order and this complaint allow."""
    said = straight(_said(prompt))
    order = _document(prompt["order"])
    status = str(order.get("status", ""))
    kind = prompt["category"] or next(iter(categories(said)), "other")
    remedy, reason = _remedy(kind, status, said)
    return {"remedy": remedy, "item_ids": _meant(order, said), "reason": reason}


def _meant(order: dict[str, Any], said: str) -> list[str]:
    """The items that the complaint names; where it names none it is about the whole order."""
    items = [(str(item.get("item_id", "")), str(item.get("name", ""))) for item in order.get("items") or ()]
    named = [item_id for item_id, name in items if name and _named(name, said)]
    return named or [item_id for item_id, _ in items]


def _named(name: str, said: str) -> bool:
    """“Mechanical Keyboard” is also named by its last word."""
    last = re.escape(straight(name).split()[-1].rstrip("s"))
    return bool(re.search(rf"\b{last}(?:e?s)?\b", said))


def _remedy(kind: str, status: str, said: str) -> tuple[str, str]:
    if not status:
        return "person", "The order could not be read, so a person has to look at it."
    if PERSON.search(said) or ANGRY.search(said):
        return "person", "The customer asks for a person, or is so upset that a person should answer."
    if CONTENT.search(said):
        return "apologise", "The customer wants nothing to be changed."
    remedy, reason = _by_status(kind, status)
    if (remedy == "cancel" and _refuses(CANCEL, said)) or (remedy == "return" and _refuses(RETURN, said)):
        return "apologise", "The customer does not want the order to be changed."
    return remedy, reason


def _refuses(deed: re.Pattern[str], said: str) -> bool:
    """Whether the customer speaks of it only to say that they do not want it."""
    return bool(deed.search(said)) and not meant(deed, said)


def _by_status(kind: str, status: str) -> tuple[str, str]:
    what = kind.replace("_", " ")
    if status == "pending" and kind in ("unwanted", "late"):
        return "cancel", f"The order is still pending, so it can be cancelled ({what})."
    if status == "delivered" and kind in ("damaged", "wrong_item", "unwanted"):
        return "return", f"The order was delivered, so it can be returned ({what})."
    if status == "processed":
        return "person", "The order is on its way: it can neither be cancelled nor returned now, so a person decides."
    if status == "pending" and kind in ("damaged", "wrong_item"):
        return "person", f"The order is still pending, which does not go with the complaint ({what}): a person decides."
    return "apologise", f"The order is {status}: for this complaint ({what}) there is nothing to change."


def write_reply(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `complaint_triage.write_reply`: only what is known to have been done is told as done."""
    order = _order(prompt["order_id"]) or "your order"
    told = ["I am sorry for the trouble."]
    told += _told(prompt, order)
    if _yes(prompt["urgent"]) and prompt["remedy"] != "person":
        told.append("I have seen that it is urgent.")
    return {"answer": " ".join(told)}


def _told(prompt: Prompt, order: str) -> list[str]:
    """What became of the complaint, or what is missing."""
    remedy, problem = prompt["remedy"], prompt["problem"]
    if remedy == "apologise":
        return [f"I have changed nothing about {order}.", prompt["reason"]]
    if remedy:
        return _deed(prompt, remedy, order)
    if not ORDER_ID.search(prompt["order_id"]):
        if prompt["category"] in ("", "other") and not prompt["user_id"]:
            return ["Thank you for telling us. Nothing has been changed; if it is about an order, tell me its number."]
        return ["I could not tell which order it is about, so nothing has been changed. Please give its number."]
    if not prompt["user_id"]:
        ask = "Please give the e-mail address of the account, or your name and zip code."
        return [f"I could not find your account, so nothing has been changed about {order}.", ask]
    trouble = f" ({problem[:300]})" if problem else ""
    return [f"I found no order {order} of yours{trouble}, so nothing has been changed. Please check the number."]


def _deed(prompt: Prompt, remedy: str, order: str) -> list[str]:
    """What `done` shows of the remedy."""
    done, reason = prompt["done"], prompt["reason"]
    failed = re.match(r"\W*(?:error|unknown|failed)", done, re.IGNORECASE)
    if not done or failed:
        why = f"The store said: {done[:300]}" if done else "It was not approved, or something before it failed."
        what = {"cancel": "cancelled", "return": "returned", "person": "handed over to a person"}.get(remedy, remedy)
        return [f"This has not been {what}: {order}.", why]
    if remedy == "person":
        return ["I have handed your complaint over to a person, who will look at it.", reason]
    status = _document(done).get("status")
    says = f" Its status is now “{status}”." if status else ""
    what = "cancelled it" if remedy == "cancel" else "requested its return"
    return [f"About {order}: I have {what}.{says}"]


def _document(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _yes(text: str) -> bool:
    return text.strip().lower() == "true"
