"""What a task is about: its customer and documents, and the reads that a sensible agent would make first."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pydantic import JsonValue

from packs.retail.policy import Call
from packs.retail.records import Index
from packs.retail.tasks.replay import REFUSED, Replay, Shop
from packs.retail.tasks.task import Task, TaskCall

_ORDER = re.compile(r"#W\d+")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


class About(NamedTuple):
    """`users`: whom the calls and orders belong to, the customer first; ids that do not exist are not among these."""

    users: tuple[str, ...]
    orders: tuple[str, ...]
    products: tuple[str, ...]


def about(task: Task, shop: Shop) -> About:
    """Whatever the calls and the instruction name, and all that the customer ever ordered."""
    data = shop.data
    texts = [text for call in task.agt for value in call.arguments.values() for text in _texts(value)]
    orders = _known([*texts, *_ORDER.findall(task.q)], data["orders"])
    owners = [data["orders"][order]["user_id"] for order in orders]
    users = _known([*texts, *owners, *identified(task.q, shop)], data["users"])
    theirs = [order for user_id in users[:1] for order in data["users"][user_id]["orders"]]
    orders = _known([*orders, *theirs], data["orders"])
    bought = [item["product_id"] for order in orders for item in data["orders"][order]["items"]]
    named = [product_id for product_id, one in data["products"].items() if one["name"].lower() in task.q.lower()]
    return About(users, orders, _known([*texts, *bought, *named], data["products"]))


def identified(q: str, shop: Shop) -> Iterator[str]:
    """The users that the instruction lets an agent find: by id, by e-mail, by name and postal code."""
    words = q.lower()
    for user_id in re.findall(r"[a-z]+(?:_[a-z]+)+_\d+", words):
        if user_id in shop.data["users"]:
            yield user_id
    for email in _EMAIL.findall(words):
        if found := shop.index.by_email.get(email.rstrip(".")):
            yield found
    for first, people in _firsts(shop.index, words):
        for user_id, last in people:
            if f"{first} {last}" in words and shop.data["users"][user_id]["address"]["zip"] in words:
                yield user_id


def reads(found: About, shop: Shop) -> list[Call]:
    """What an agent learns before it changes anything: who it is, their details, the orders and the products."""
    world = shop.fresh()
    done = []
    for user_id in found.users[:1]:
        email = shop.data["users"][user_id]["email"]
        done.append(made(world, TaskCall(name="find_user_id_by_email", arguments={"email": email})))
        done.append(made(world, TaskCall(name="get_user_details", arguments={"user_id": user_id})))
    for order_id in found.orders:
        done.append(made(world, TaskCall(name="get_order_details", arguments={"order_id": order_id})))
    for product_id in found.products:
        done.append(made(world, TaskCall(name="get_product_details", arguments={"product_id": product_id})))
    return done


def made(world: Replay, call: TaskCall) -> Call:
    """The call, with what came of it."""
    result = world.call(call.name, call.arguments)
    return Call(call.name, call.arguments, not result.startswith(REFUSED), result)


def _texts(value: JsonValue) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str):
            yield one


def _known[K](texts: Iterable[str], among: dict[str, K]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text in among))


def _firsts(index: Index, words: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for word in dict.fromkeys(re.findall(r"[a-z'-]+", words)):
        if word in index.named:
            yield word, index.named[word]
