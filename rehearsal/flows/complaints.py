"""The replies to the nodes of complaint_triage: classify a complaint, choose a remedy, write the reply."""

import re
from typing import Any

from rehearsal.flows import cues
from rehearsal.prompt import ParsedPrompt, parsed
from rehearsal.retail.customer_requests import order_ids
from rehearsal.retail.identity import emails, names_with_zip
from rehearsal.retail.text_normalization import normalize

_URGENT = re.compile(r"\b(?:urgent\w*|asap|immediately|by (?:today|tomorrow|\w+day)|lawyer)\b")

ALLOWED = {
    ("pending", "unwanted"): "cancel",
    ("pending", "late"): "cancel",
    ("pending", "damaged"): "person",
    ("pending", "wrong_item"): "person",
    ("delivered", "damaged"): "return",
    ("delivered", "wrong_item"): "return",
    ("delivered", "unwanted"): "return",
}
REASONS = {
    "cancel": "The order is still pending, so it can be cancelled ({what}).",
    "return": "The order was delivered, so it can be returned ({what}).",
    "person": "The order is {status}, which does not go with the complaint ({what}): a person decides.",
    "apologise": "The order is {status}: for this complaint ({what}) there is nothing to change.",
}


def answer_complaint(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `complaint_triage.classify_complaint`. What the customer did not say is empty."""
    words, findings = _words(prompt), prompt["findings"][: cues.LONGEST]
    lower = cues.plain(words)
    first, last, code = next(iter(names_with_zip(normalize(words))), ("", "", ""))
    kind = cues.kind_of(lower)
    outputs = {
        "category": kind or "other",
        "order_id": (order_ids(words) or _only(order_ids(findings)) or [""])[-1],
        "email": (emails(words) or _only(emails(findings)) or [""])[0],
        "first_name": first,
        "last_name": last,
        "zip": code,
        "urgent": bool(_URGENT.search(lower) or cues.PERSON.search(lower)),
    }
    return _outputs(outputs, f"Its words are those of a complaint of this kind: {kind or 'none that is known'}.")


def _outputs(outputs: dict[str, Any], analysis: str) -> dict[str, Any]:
    """The reply to a node of a flow."""
    return {"kind": "outputs", "analysis": analysis, "outputs": outputs}


def _words(prompt: ParsedPrompt) -> str:
    """The customer's words, oldest first."""
    return "\n".join(prompt[tag][: cues.LONGEST] for tag in ("request", "details", "feedback") if prompt[tag])


def _only(values: list[str]) -> list[str]:
    """The only value; empty if there are several."""
    return values if len(values) == 1 else []


def assess_complaint(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `complaint_triage.assess`: what this order and this complaint allow."""
    lower, order = cues.plain(_words(prompt)), _order(prompt["order"])
    remedy, reason = _remedy(prompt["category"], str(order.get("status", "")), lower)
    items = [(str(item.get("item_id", "")), str(item.get("name", "")).lower()) for item in order.get("items") or ()]
    named = [item_id for item_id, name in items if name and name.split()[-1] in lower]
    outputs = {"remedy": remedy, "item_ids": named or [item_id for item_id, _ in items], "reason": reason}
    return _outputs(outputs, reason)


def _order(text: str) -> dict[str, Any]:
    order = parsed(text)
    return order if isinstance(order, dict) else {}


def _remedy(kind: str, status: str, lower: str) -> tuple[str, str]:
    """The remedy and its reason. The customer's words take precedence over what the order's status allows."""
    if not status:
        return "person", "The order could not be read, so a person has to look at it."
    if cues.PERSON.search(lower):
        return "person", "The customer asks for a person."
    if cues.CONTENT.search(lower):
        return "apologise", "The customer wants nothing to be changed."
    if any(cue.search(lower) and not cues.affirms(cue, lower) for cue in (cues.CANCEL, cues.RETURN)):
        return "apologise", "The customer does not want the order to be changed."
    remedy = "person" if status == "processed" else ALLOWED.get((status, kind), "apologise")
    return remedy, REASONS[remedy].format(status=status, what=kind.replace("_", " "))


def write_reply(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `complaint_triage.write_reply`. It claims only what is known to have been done."""
    return {"kind": "outputs", "outputs": {"answer": " ".join(["I am sorry for the trouble.", *_outcome(prompt)])}}


def _outcome(prompt: ParsedPrompt) -> list[str]:
    """Sentences about the outcome, or about what is missing."""
    order, remedy, problem = prompt["order_id"] or "your order", prompt["remedy"], prompt["problem"]
    if remedy == "apologise":
        return [f"I have changed nothing about {order}.", prompt["reason"]]
    if remedy:
        return _remedied(prompt, remedy, order)
    if not prompt["order_id"]:
        return ["I could not tell which order it is about, so nothing has been changed. Please give its number."]
    if not prompt["user_id"]:
        ask = "Please give the e-mail address of the account, or your name and zip code."
        return [f"I could not find your account, so nothing has been changed about {order}.", ask]
    trouble = f" ({problem[:300]})" if problem else ""
    return [f"I found no order {order} of yours{trouble}, so nothing has been changed. Please check the number."]


def _remedied(prompt: ParsedPrompt, remedy: str, order: str) -> list[str]:
    """Sentences about the remedy, as far as the section `done` shows it."""
    done, reason = prompt["done"], prompt["reason"]
    if not done or re.match(r"\W*(?:error|unknown|failed)", done, re.IGNORECASE):
        why = f"The store said: {done[:300]}" if done else "It was not approved, or something before it failed."
        what = {"cancel": "cancelled", "return": "returned", "person": "handed over to a person"}.get(remedy, remedy)
        return [f"This has not been {what}: {order}.", why]
    if remedy == "person":
        return [
            "I have noted in the store that a person has to look at your complaint. Nobody has been told yet.",
            reason,
        ]
    what = "cancelled it" if remedy == "cancel" else "requested its return"
    status = _order(done).get("status")
    return [f"About {order}: I have {what}."] + ([f"Its status is now “{status}”."] if status else [])
