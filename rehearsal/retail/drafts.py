"""Drafts a test task: an instruction in plain English for the wishes of a brief, with the calls that fulfil them.

The brief seeds the choice of words: the same brief always gives the same task.
"""

import json
from random import Random
from typing import Any

from rehearsal.prompt import Prompt, first_object
from rehearsal.retail.addresses import one_line
from rehearsal.retail.state import Document
from rehearsal.retail.words import listing

NAMES = ("You are {name}, and {known}.", "Your name is {name} and {known}.", "You are {name}; {known}.")
MOODS = ("", "", "You are patient and polite. ", "You are in a hurry. ", "You are careful with money. ")
KNOWING = ("You want to know", "You would like to be told", "You need to find out")
WANTING = ("you want to", "you would like to", "you ask to", "you need to")


def answer_task(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `task`."""
    brief = first_object(prompt["knowledge"])
    wishes = brief.get("scenario", {}).get("wishes") or []
    if not isinstance(brief.get("user"), dict) or not wishes:
        why = "The rehearsal model drafts a task from a brief with a customer and wishes; there is none here."
        return {"kind": "task", "reasoning": why, "q": why, "agt": [], "ogt": [], "confidence": 0.0}
    voice, user = Random(json.dumps(brief, sort_keys=True)), brief["user"]  # noqa: S311 - words, no secret
    known = voice.choice((f"your zip code is {user['address']['zip']}", f"your email is {user['email']}"))
    name = f"{user['name']['first_name']} {user['name']['last_name']}"
    said = [f"{voice.choice(NAMES).format(name=name, known=known)} {voice.choice(MOODS)}".strip()]
    return {
        "kind": "task",
        "reasoning": f"What the customer wants: {listing([str(wish.get('kind', '')) for wish in wishes])}.",
        "q": " ".join([*said, *(_wish(voice, user, wish) for wish in wishes)]),
        "agt": [
            {"name": wish["tool"], "arguments": json.dumps(wish["arguments"])} for wish in wishes if wish.get("tool")
        ],
        "ogt": [str(answer) for wish in wishes for answer in wish.get("answers", ())],
        "confidence": 0.9,
    }


def _wish(voice: Random, user: Document, wish: Document) -> str:
    """One wish in the customer's words, with what it is about as the brief tells it."""
    given, about = wish.get("arguments", {}), str(wish.get("about", ""))
    if not wish.get("tool"):
        return f"{voice.choice(KNOWING)} {about}."
    if "address1" in given:
        what = (
            f"change the shipping address of order {given['order_id']}"
            if "order_id" in given
            else "update the address in your account"
        )
        return f"{voice.choice(WANTING).capitalize()} {what} to {one_line(given)}."
    order, _, what = about.replace(": replace the", ": exchange the").partition(": ")
    for method_id, method in user["payment_methods"].items():
        only = sum(one["source"] == method["source"] for one in user["payment_methods"].values()) == 1
        if only and method["source"] != "credit_card":
            what = what.replace(method_id, "your PayPal account" if method["source"] == "paypal" else "your gift card")
        if method["source"] == "credit_card":
            what = what.replace(method_id, f"your {method['brand']} card ending in {method['last_four']}")
    return f"For {order}, {voice.choice(WANTING)} {what}."
