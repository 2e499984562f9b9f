"""The subject of a task: its customer and documents, and the reads that an agent is expected to make first."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pydantic import JsonValue

from packs.retail.policy import CompletedCall
from packs.retail.records import Index
from packs.retail.tasks.replay import REFUSAL_PREFIXES, Replay, Shop
from packs.retail.tasks.task import ExpectedCall, RetailTask

_ORDER = re.compile(r"#W\d+")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


class TaskSubject(NamedTuple):
    """What a task is about. `users` own the calls and orders, the customer first. All ids exist."""

    users: tuple[str, ...]
    orders: tuple[str, ...]
    products: tuple[str, ...]


def subject_of(task: RetailTask, shop: Shop) -> TaskSubject:
    """Everything that the calls and the instruction name, and all that the customer has ordered."""
    data = shop.data
    texts = [text for call in task.agt for value in call.arguments.values() for text in _texts(value)]
    orders = _known([*texts, *_ORDER.findall(task.q)], data["orders"])
    owners = [data["orders"][order]["user_id"] for order in orders]
    users = _known([*texts, *owners, *identified_users(task.q, shop)], data["users"])
    own_orders = [order for user_id in users[:1] for order in data["users"][user_id]["orders"]]
    orders = _known([*orders, *own_orders], data["orders"])
    bought = [item["product_id"] for order in orders for item in data["orders"][order]["items"]]
    named = [
        product_id for product_id, product in data["products"].items() if product["name"].lower() in task.q.lower()
    ]
    return TaskSubject(users, orders, _known([*texts, *bought, *named], data["products"]))


def identified_users(q: str, shop: Shop) -> Iterator[str]:
    """The users that an agent can identify from the instruction: by id, by e-mail, by name and postal code."""
    words = q.lower()
    for user_id in re.findall(r"[a-z]+(?:_[a-z]+)+_\d+", words):
        if user_id in shop.data["users"]:
            yield user_id
    for email in _EMAIL.findall(words):
        if user := shop.index.by_email.get(email.rstrip(".")):
            yield user
    for first, people in _named_people(shop.index, words):
        for user_id, last in people:
            if f"{first} {last}" in words and shop.data["users"][user_id]["address"]["zip"] in words:
                yield user_id


def expected_reads(subject: TaskSubject, shop: Shop) -> list[CompletedCall]:
    """The reads before any change: the customer, their details, the orders and the products."""
    world = shop.fresh()
    calls = []
    for user_id in subject.users[:1]:
        email = shop.data["users"][user_id]["email"]
        calls.append(replay_call(world, ExpectedCall(name="find_user_id_by_email", arguments={"email": email})))
        calls.append(replay_call(world, ExpectedCall(name="get_user_details", arguments={"user_id": user_id})))
    for order_id in subject.orders:
        calls.append(replay_call(world, ExpectedCall(name="get_order_details", arguments={"order_id": order_id})))
    for product_id in subject.products:
        calls.append(replay_call(world, ExpectedCall(name="get_product_details", arguments={"product_id": product_id})))
    return calls


def replay_call(world: Replay, call: ExpectedCall) -> CompletedCall:
    """The call with its result."""
    result = world.call(call.name, call.arguments)
    return CompletedCall(call.name, call.arguments, not result.startswith(REFUSAL_PREFIXES), result)


def _texts(value: JsonValue) -> Iterator[str]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield item


def _known[K](texts: Iterable[str], among: dict[str, K]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text in among))


def _named_people(index: Index, words: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for word in dict.fromkeys(re.findall(r"[a-z'-]+", words)):
        if word in index.ids_by_first_name:
            yield word, index.ids_by_first_name[word]
