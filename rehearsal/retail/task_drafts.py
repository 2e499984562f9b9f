"""Drafts a test task: an instruction in plain English for the intents of a brief, with the calls that fulfil them.

The brief seeds the choice of words: the same brief always gives the same task.
"""

import json
from random import Random
from typing import Any

from rehearsal.prompt import ParsedPrompt, first_object
from rehearsal.retail.request_state import Document
from rehearsal.retail.wording import listing, one_line

NAMES = ("You are {name}, and {known}.", "Your name is {name} and {known}.", "You are {name}; {known}.")
MOODS = ("", "", "You are patient and polite. ", "You are in a hurry. ", "You are careful with money. ")
KNOWING = ("You want to know", "You would like to be told", "You need to find out")
WANTING = ("you want to", "you would like to", "you ask to", "you need to")


def answer_task(prompt: ParsedPrompt) -> dict[str, Any]:
    """The reply to the task `task`."""
    brief = first_object(prompt["knowledge"])
    intents = brief.get("scenario", {}).get("wishes") or []
    if not isinstance(brief.get("user"), dict) or not intents:
        why = "The rehearsal model drafts a task from a brief with a customer and wishes; there is none here."
        return {"kind": "task", "reasoning": why, "q": why, "agt": [], "ogt": [], "confidence": 0.0}
    voice, user = Random(json.dumps(brief, sort_keys=True)), brief["user"]  # noqa: S311 - words, no secret
    known = voice.choice((f"your zip code is {user['address']['zip']}", f"your email is {user['email']}"))
    name = f"{user['name']['first_name']} {user['name']['last_name']}"
    opening = [f"{voice.choice(NAMES).format(name=name, known=known)} {voice.choice(MOODS)}".strip()]
    return {
        "kind": "task",
        "reasoning": f"What the customer wants: {listing([str(intent.get('kind', '')) for intent in intents])}.",
        "q": " ".join([*opening, *(_intent_sentence(voice, user, intent) for intent in intents)]),
        "agt": [
            {"name": intent["tool"], "arguments": json.dumps(intent["arguments"])}
            for intent in intents
            if intent.get("tool")
        ],
        "ogt": [str(answer) for intent in intents for answer in intent.get("answers", ())],
        "confidence": 0.9,
    }


def _intent_sentence(voice: Random, user: Document, intent: Document) -> str:
    """One intent of the brief as a sentence of the customer."""
    arguments, about = intent.get("arguments", {}), str(intent.get("about", ""))
    if not intent.get("tool"):
        return f"{voice.choice(KNOWING)} {about}."
    if "address1" in arguments:
        what = (
            f"change the shipping address of order {arguments['order_id']}"
            if "order_id" in arguments
            else "update the address in your account"
        )
        return f"{voice.choice(WANTING).capitalize()} {what} to {one_line(arguments)}."
    order, _, what = about.replace(": replace the", ": exchange the").partition(": ")
    for method_id, method in user["payment_methods"].items():
        only = sum(other["source"] == method["source"] for other in user["payment_methods"].values()) == 1
        if only and method["source"] != "credit_card":
            what = what.replace(method_id, "your PayPal account" if method["source"] == "paypal" else "your gift card")
        if method["source"] == "credit_card":
            what = what.replace(method_id, f"your {method['brand']} card ending in {method['last_four']}")
    return f"For {order}, {voice.choice(WANTING)} {what}."
