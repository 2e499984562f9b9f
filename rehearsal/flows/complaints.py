"""The replies to the nodes of complaint_triage: classify a complaint, choose a remedy, write the reply."""

from typing import Any

from rehearsal.flows import cues
from rehearsal.matching import has_phrase
from rehearsal.prompt import ParsedPrompt, parsed
from rehearsal.retail.identity import emails, names_with_zip
from rehearsal.retail.request_state import order_ids

URGENT = ("urgent", "asap", "immediately", "lawyer")
ALLOWED = {
    ("pending", "unwanted"): "cancel",
    ("pending", "late"): "cancel",
    ("delivered", "damaged"): "return",
    ("delivered", "wrong_item"): "return",
    ("delivered", "unwanted"): "return",
}
DONE = {
    "cancel": ("cancelled", "I have cancelled it."),
    "return": ("returned", "I have requested its return."),
    "person": ("handed over", "I have noted in the store that a person has to look at your complaint."),
}


def answer_complaint(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `complaint_triage.classify_complaint`. What the customer did not say is empty."""
    text, found = _words(prompt), prompt["findings"]
    first, last, code = next(iter(names_with_zip(text)), ("", "", ""))
    kind = cues.kind_of(text)
    outputs = {
        "category": kind or "other",
        "order_id": (order_ids(text) or _only(order_ids(found)) or [""])[-1],
        "email": (emails(text) or _only(emails(found)) or [""])[0],
        "first_name": first,
        "last_name": last,
        "zip": code,
        "urgent": has_phrase(text, URGENT),
    }
    return _outputs(outputs, f"Its words are those of a complaint of this kind: {kind or 'none that is known'}.")


def _outputs(outputs: dict[str, Any], analysis: str) -> dict[str, Any]:
    """The reply to a node of a flow."""
    return {"kind": "outputs", "analysis": analysis, "outputs": outputs}


def _words(prompt: ParsedPrompt) -> str:
    """The customer's words, oldest first."""
    return "\n".join(prompt[tag] for tag in ("request", "details", "feedback") if prompt[tag])


def _only(values: list[str]) -> list[str]:
    """The only value; empty if there are several."""
    return values if len(values) == 1 else []


def assess_complaint(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `complaint_triage.assess`: what this order and this complaint allow."""
    text, order = _words(prompt), _order(prompt["order"])
    remedy, reason = _remedy(prompt["category"], str(order.get("status", "")), text)
    items = [(str(item.get("item_id", "")), str(item.get("name", "")).lower()) for item in order.get("items") or ()]
    named = [item_id for item_id, name in items if name and has_phrase(text, (f"{name.split()[-1]}*",))]
    outputs = {"remedy": remedy, "item_ids": named or [item_id for item_id, _ in items], "reason": reason}
    return _outputs(outputs, reason)


def _order(text: str) -> dict[str, Any]:
    order = parsed(text)
    return order if isinstance(order, dict) else {}


def _remedy(kind: str, status: str, text: str) -> tuple[str, str]:
    """The remedy and its reason. The customer's words take precedence over what the order's status allows."""
    if not status or has_phrase(text, cues.PERSON):
        return "person", "A person has to look at it."
    if has_phrase(text, cues.KEEP):
        return "apologise", "The customer does not want the order to be changed."
    otherwise = "person" if status == "processed" or (status, kind) == ("pending", "damaged") else "apologise"
    remedy = ALLOWED.get((status, kind), otherwise)
    return remedy, f"The order is {status}, and the complaint is of this kind: {kind.replace('_', ' ')}."


def write_reply(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `complaint_triage.write_reply`. It claims only what is known to have been done."""
    return {"kind": "outputs", "outputs": {"answer": f"I am sorry for the trouble. {_outcome(prompt)}"}}


def _outcome(prompt: ParsedPrompt) -> str:
    """Sentences about the outcome, or about what is missing."""
    order, remedy, done = prompt["order_id"], prompt["remedy"], prompt["done"]
    if remedy in DONE:
        what, sentence = DONE[remedy]
        if done and not done.startswith(("Error", "Unknown")):
            return f"About {order}: {sentence}"
        return (
            f"This has not been {what}: {order}. {done[:300] or 'It was not approved, or something before it failed.'}"
        )
    if remedy:
        return f"I have changed nothing about {order}. {prompt['reason']}"
    if not order:
        return "I could not tell which order it is about, so nothing has been changed. Please give its number."
    if not prompt["user_id"]:
        return (
            f"I could not find your account. Nothing has been changed about {order}. Please give your e-mail address."
        )
    return f"I found no order {order} of yours, so nothing has been changed. {prompt['problem'][:300]}"
