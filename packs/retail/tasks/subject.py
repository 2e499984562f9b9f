"""The subject of a task: its customer and documents, and the reads that an agent is expected to make first."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from packs.retail.known_records import CompletedCall
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import RetailTask


class TaskSubject(NamedTuple):
    """What a task is about. `users` own the calls and orders, the customer first. All ids exist."""

    users: tuple[str, ...]
    orders: tuple[str, ...]
    products: tuple[str, ...]


def subject_of(task: RetailTask, shop: Shop) -> TaskSubject:
    """Everything that the calls and the instruction name, and all that the customer has ordered."""
    data = shop.data
    values = [value for call in task.agt for value in call.arguments.values()]
    items = [item for value in values for item in (value if isinstance(value, list) else [value])]
    texts = [item for item in items if isinstance(item, str)]
    orders = _existing([*texts, *re.findall(r"#W\d+", task.q)], data["orders"])
    owners = [data["orders"][order]["user_id"] for order in orders]
    users = _existing([*texts, *owners, *identified_users(task.q, shop)], data["users"])
    own_orders = [order for user_id in users[:1] for order in data["users"][user_id]["orders"]]
    orders = _existing([*orders, *own_orders], data["orders"])
    bought = [item["product_id"] for order in orders for item in data["orders"][order]["items"]]
    named = [key for key, product in data["products"].items() if product["name"].lower() in task.q.lower()]
    return TaskSubject(users, orders, _existing([*texts, *bought, *named], data["products"]))


def identified_users(q: str, shop: Shop) -> Iterator[str]:
    """The users that an agent can identify from the instruction: by id, by e-mail, by name and postal code."""
    words, users = q.lower(), shop.data["users"]
    yield from _existing(re.findall(r"[a-z]+(?:_[a-z]+)+_\d+", words), users)
    for email in re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", words):
        if user := shop.index.by_email.get(email.rstrip(".")):
            yield user
    for first in dict.fromkeys(re.findall(r"[a-z'-]+", words)):
        for user_id, last in shop.index.ids_by_first_name.get(first, ()):
            if f"{first} {last}" in words and users[user_id]["address"]["zip"] in words:
                yield user_id


def expected_reads(subject: TaskSubject, shop: Shop) -> list[CompletedCall]:
    """The reads before any change: the customer, their details, the orders and the products."""
    users = subject.users[:1]
    reads = {
        ("find_user_id_by_email", "email"): [shop.data["users"][user_id]["email"] for user_id in users],
        ("get_user_details", "user_id"): users,
        ("get_order_details", "order_id"): subject.orders,
        ("get_product_details", "product_id"): subject.products,
    }
    world = shop.fresh()
    return [world.complete(tool, {name: value}) for (tool, name), values in reads.items() for value in values]


def _existing(texts: Iterable[str], ids: Collection[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text in ids))
