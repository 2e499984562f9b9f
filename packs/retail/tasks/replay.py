"""The store as tasks see it: who and what a task is about, and a cheap world in memory to replay its calls in."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from pydantic import JsonValue

from packs.retail.known_records import CompletedCall
from packs.retail.records import BufferedRecords, Data, Document, Index, Kind, StoredDocument
from packs.retail.tasks.task import ExpectedCall, RetailTask
from packs.retail.tools import perform

REFUSAL_PREFIXES = ("Error: ", "Unknown action ")
Changed = dict[tuple[Kind, str], Document]


class Shop:
    """The indexed data of the tasks. `ids` are the existing ids, by the name of the argument that takes them.

    `fresh()` returns a new world in its initial state.
    """

    def __init__(self, data: Data) -> None:
        self.data = data
        self.index = Index(data)
        variants = {item for product in data["products"].values() for item in product["variants"]}
        methods = {method for user in data["users"].values() for method in user["payment_methods"]}
        self.ids: dict[str, Collection[str]] = {
            "order_id": data["orders"],
            "user_id": data["users"],
            "product_id": data["products"],
            "item_ids": variants,
            "new_item_ids": variants,
            "payment_method_id": methods,
        }

    def fresh(self) -> "Replay":
        return Replay(self)

    def after(self, calls: Iterable[ExpectedCall]) -> Changed:
        """The documents that differ from the initial state after these calls. Refused calls change nothing."""
        world = self.fresh()
        for call in calls:
            world.call(call.name, call.arguments)
        return world.changed


class Replay:
    """One world. `changed` has the documents that differ from the initial state."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._written: Changed = {}

    @property
    def changed(self) -> Changed:
        data = self._shop.data
        return {at: document for at, document in self._written.items() if data[at[0]].get(at[1]) != document}

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        """The tool's exact result."""
        return self.complete(name, arguments).result

    def complete(self, name: str, arguments: Mapping[str, JsonValue]) -> CompletedCall:
        """The call with its result."""
        draft = BufferedRecords(self._shop.index, self._read)
        result = perform(draft, name, arguments)
        is_done = not result.startswith(REFUSAL_PREFIXES)
        if is_done:
            self._written |= draft.after
        return CompletedCall(name, arguments, is_done, result)

    def _read(self, kind: Kind, document_id: str) -> StoredDocument | None:
        document = self._written.get((kind, document_id)) or self._shop.data[kind].get(document_id)
        return None if document is None else StoredDocument(0, json.dumps(document))


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
