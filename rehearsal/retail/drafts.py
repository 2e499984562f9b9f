"""The task drafter's part: an instruction in plain English for the wishes of a brief, with the calls that fulfil them.

Which words are taken follows from the brief's own text, so the same brief gives the same task, and others other words.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

from rehearsal.prompt import Prompt
from rehearsal.retail.phrases import BY_MISTAKE, LEAD_INS, MOODS, NO_NEED, PHRASES, SWAPS
from rehearsal.retail.returns import MISTAKE
from rehearsal.retail.words import listing

Document = dict[str, Any]


class Voice:
    """Draws that depend on nothing but a text."""

    def __init__(self, text: str) -> None:
        self._text, self._drawn = text, 0

    def one[T](self, of: Sequence[T]) -> T:
        self._drawn += 1
        digest = hashlib.sha256(f"{self._drawn} {self._text}".encode()).digest()
        return of[int.from_bytes(digest[:8]) % len(of)]


def answer_task(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `task`."""
    brief = _brief(prompt["knowledge"])
    wishes = brief.get("scenario", {}).get("wishes") or []
    if not isinstance(brief.get("user"), dict) or not wishes:
        why = "The rehearsal model drafts a task from a brief with a customer and wishes; there is none here."
        return {"q": why, "agt": [], "ogt": [], "reasoning": why, "confidence": 0.0}
    voice = Voice(json.dumps(brief, sort_keys=True))
    said = [_wish(voice, brief, wish, first=not at) for at, wish in enumerate(wishes)]
    calls = [{"name": wish["tool"], "arguments": wish["arguments"]} for wish in wishes if wish.get("tool")]
    told = [str(answer) for wish in wishes for answer in wish.get("answers", ())]
    kinds = listing(list(dict.fromkeys(str(wish.get("kind", "")) for wish in wishes)))
    return {
        "q": " ".join([_who(voice, brief["user"]), *said]),
        "agt": calls,
        "ogt": told,
        "reasoning": f"The customer's own wishes ({kinds}), in words of their own.",
        "confidence": 0.9,
    }


def _brief(knowledge: str) -> Document:
    """The JSON object of the item that is called brief."""
    start = knowledge.find("{", max(re.search(r"^# brief$", knowledge, re.MULTILINE) is not None, 0))
    try:
        found = json.JSONDecoder().raw_decode(knowledge[start:])[0] if start >= 0 else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _who(voice: Voice, user: Document) -> str:
    name = f"{user['name']['first_name']} {user['name']['last_name']}"
    known = voice.one((f"your zip code is {user['address']['zip']}", f"your email is {user['email']}"))
    opening = voice.one(
        ("You are {name}, and {known}.", "Your name is {name} and {known}.", "You are {name}; {known}.")
    )
    mood = voice.one(MOODS)
    return f"{opening.format(name=name, known=known)}{f' You are {mood}.' if mood else ''}"


def _wish(voice: Voice, brief: Document, wish: Document, *, first: bool) -> str:
    arguments = wish.get("arguments", {})
    order = next((one for one in brief["orders"] if one["order_id"] == arguments.get("order_id")), None)
    words = {
        "order": _order(voice, brief["user"], order) if order else "",
        "method": _method(voice, brief["user"], order, arguments.get("payment_method_id", "")),
        "address": _address(arguments) if "address1" in arguments else "",
        "items": _items(order, arguments.get("item_ids", ())) if order else "",
        "swaps": _swaps(voice, brief, order, arguments) if order and "new_item_ids" in arguments else "",
        "why": voice.one(BY_MISTAKE if arguments.get("reason") == MISTAKE else NO_NEED),
        "about": wish.get("about", ""),
    }
    text = voice.one(PHRASES[wish.get("tool") or "lookup"]).format(**words)
    lead = voice.one(LEAD_INS[not first])
    text = f"{lead} {text}" if lead and text.startswith("you want") else text
    return text[:1].upper() + text[1:]


def _order(voice: Voice, user: Document, order: Document) -> str:
    """The order as people call it; by its number where nothing else is certain to tell it from their other ones."""
    order_id, others = order["order_id"], [one for one in user["orders"] if one != order["order_id"]]
    ways = [f"order {order_id}", f"order {order_id}", f"your order {order_id}"]
    if not others:
        ways += [f"the order with the {order['items'][0]['name'].lower()}", "your only order"]
    if not any(one[-3:] == order_id[-3:] for one in others):
        ways.append(f"the order whose number ends in {order_id[-3:]}")
    return voice.one(ways)


def _method(voice: Voice, user: Document, order: Document | None, method_id: str) -> str:
    methods = user["payment_methods"]
    if method_id not in methods:
        return method_id
    method = methods[method_id]
    alike = [one for one in methods.values() if one["source"] == method["source"]]
    words = {"paypal": "your PayPal account", "gift_card": "your gift card", "credit_card": "your credit card"}
    if method["source"] == "credit_card" and (len(alike) > 1 or voice.one((True, False))):
        return f"your {method['brand']} card ending in {method['last_four']}"
    return f"{words[method['source']]} ({method_id})" if len(alike) > 1 else words[method["source"]]


def _address(arguments: Document) -> str:
    street = ", ".join(part for part in (arguments["address1"], arguments["address2"]) if part)
    return f"{street}, {arguments['city']}, {arguments['state']} {arguments['zip']}"


def _items(order: Document, item_ids: Sequence[str]) -> str:
    items = [next(item for item in order["items"] if item["item_id"] == item_id) for item_id in item_ids]
    return listing([f"the {_named(order, item)}" for item in items])


def _named(order: Document, item: Document) -> str:
    """The item's name, with its options where the order has another of that name."""
    same = [one for one in order["items"] if one["name"] == item["name"]]
    options = ", ".join(f"{axis} {value}" for axis, value in item["options"].items())
    return f"{item['name']} ({options})" if len(same) > 1 else str(item["name"])


def _swaps(voice: Voice, brief: Document, order: Document, arguments: Document) -> str:
    variants = {one["item_id"]: one for product in brief["products"] for one in product["variants"].values()}
    told = []
    for old_id, new_id in zip(arguments["item_ids"], arguments["new_item_ids"], strict=True):
        old = next(item for item in order["items"] if item["item_id"] == old_id)
        new = variants[new_id]["options"]
        changed = [f"{axis} {value}" for axis, value in new.items() if old["options"].get(axis) != value]
        told.append(voice.one(SWAPS).format(item=_named(order, old), new=listing(changed)))
    return listing(told)
