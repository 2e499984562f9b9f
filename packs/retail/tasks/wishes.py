"""What one customer could want: for each kind, wishes that the store's tools and rules allow in its first state."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from pydantic import JsonValue

from packs.retail.data import Data, Document
from packs.retail.writes import CANCEL_REASONS


@dataclass(frozen=True)
class Wish:
    """`tool` "" is a question: nothing is to be changed, `answers` are to be told. `about` says it in words."""

    kind: str
    about: str
    tool: str = ""
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    order_id: str = ""
    products: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        told = {"kind": self.kind, "about": self.about, "answers": list(self.answers)}
        return told | ({"tool": self.tool, "arguments": dict(self.arguments)} if self.tool else {})


@dataclass(frozen=True)
class Customer:
    """One customer, with what is left to be wanted: no order is concerned twice, no gift card spent twice."""

    data: Data
    user_id: str
    random: Random
    sold: Counter[str]  # products that tasks were about so far: others are chosen first
    taken: frozenset[str] = frozenset()  # orders, kinds and gift cards of the wishes before

    @property
    def user(self) -> Document:
        return self.data["users"][self.user_id]

    def orders(self, status: str) -> list[Document]:
        found = [self.data["orders"][one] for one in self.user["orders"] if one not in self.taken]
        return self.shuffled([order for order in found if order["status"] == status])

    def methods(self) -> dict[str, Document]:
        return {name: method for name, method in self.user["payment_methods"].items() if name not in self.taken}

    def without(self, wish: Wish) -> "Customer":
        """After this wish: its order, its kind and the gift card it may have touched are not at hand any more."""
        cards = {name for name in self.user["payment_methods"] if "gift_card" in name} if wish.tool else set()
        return replace(self, taken=self.taken | {wish.order_id, wish.kind} | cards)

    def shuffled[T](self, things: Sequence[T]) -> list[T]:
        return self.random.sample(list(things), len(things))

    def items(self, order: Document) -> list[Document]:
        """Items that are only once in the order, of products that were seldom chosen first."""
        held = Counter(item["item_id"] for item in order["items"])
        single = [item for item in order["items"] if held[item["item_id"]] == 1]
        return sorted(self.shuffled(single), key=lambda item: self.sold[item["product_id"]])


def _cancel(customer: Customer) -> Iterator[Wish]:
    for order in customer.orders("pending"):
        reason = customer.random.choice(CANCEL_REASONS)
        arguments: dict[str, JsonValue] = {"order_id": order["order_id"], "reason": reason}
        yield _write(
            order, "cancel", "cancel_pending_order", arguments, f"cancel the whole order: {reason}", order["items"]
        )


def _return(customer: Customer) -> Iterator[Wish]:
    for order in customer.orders("delivered"):
        items = customer.items(order)
        chosen = items[: customer.random.randint(1, min(3, len(items)))] if items else []
        paid = order["payment_history"][0]["payment_method_id"]
        cards = [name for name in customer.methods() if "gift_card" in name]
        method = customer.random.choice([paid, paid, *cards])
        if chosen:
            arguments: dict[str, JsonValue] = {
                "order_id": order["order_id"],
                "item_ids": [item["item_id"] for item in chosen],
                "payment_method_id": method,
            }
            about = f"return {_listed(chosen)}, refund to {method}"
            yield _write(order, "return", "return_delivered_order_items", arguments, about, chosen)


def _exchange(customer: Customer) -> Iterator[Wish]:
    yield from _replacing(customer, "delivered", "exchange", "exchange_delivered_order_items")


def _modify_items(customer: Customer) -> Iterator[Wish]:
    yield from _replacing(customer, "pending", "modify_items", "modify_pending_order_items")


def _replacing(customer: Customer, status: str, kind: str, tool: str) -> Iterator[Wish]:
    for order in customer.orders(status):
        wanted = customer.random.randint(1, 2)
        pairs = [(item, new) for item in customer.items(order) if (new := _other(customer, item))][:wanted]
        difference = sum(new["price"] - item["price"] for item, new in pairs)
        method = _paying(customer, difference)
        if pairs and method:
            arguments: dict[str, JsonValue] = {
                "order_id": order["order_id"],
                "item_ids": [item["item_id"] for item, _ in pairs],
                "new_item_ids": [new["item_id"] for _, new in pairs],
                "payment_method_id": method,
            }
            told = [f"the {_item(item)} for the one with {_options(new['options'])}" for item, new in pairs]
            about = f"replace {' and '.join(told)}; the difference goes to {method}"
            yield _write(order, kind, tool, arguments, about, [item for item, _ in pairs])


def _modify_payment(customer: Customer) -> Iterator[Wish]:
    for order in customer.orders("pending"):
        history = order["payment_history"]
        others = [
            name
            for name, method in customer.methods().items()
            if name != history[0]["payment_method_id"]
            and method.get("balance", history[0]["amount"]) >= history[0]["amount"]
        ]
        if len(history) == 1 and others:
            method = customer.random.choice(others)
            arguments: dict[str, JsonValue] = {"order_id": order["order_id"], "payment_method_id": method}
            about = f"pay the order with {method} instead of {history[0]['payment_method_id']}"
            yield _write(order, "modify_payment", "modify_pending_order_payment", arguments, about, order["items"])


def _modify_address(customer: Customer) -> Iterator[Wish]:
    for order in customer.orders("pending"):
        address = _address(customer, order["address"])
        about = f"send the order to {', '.join(filter(None, address.values()))}"
        arguments: dict[str, JsonValue] = {"order_id": order["order_id"], **address}
        yield _write(order, "modify_address", "modify_pending_order_address", arguments, about, order["items"])


def _profile(customer: Customer) -> Iterator[Wish]:
    if "change_profile_address" not in customer.taken:
        address = _address(customer, customer.user["address"])
        about = f"make {', '.join(filter(None, address.values()))} the default address of the profile"
        arguments: dict[str, JsonValue] = {"user_id": customer.user_id, **address}
        yield Wish("change_profile_address", about, "modify_user_address", arguments)


def _lookup(customer: Customer) -> Iterator[Wish]:
    """Questions with one right answer that no wish beside them changes."""
    if "lookup" in customer.taken:
        return
    found: list[Wish] = []
    for order in [order for status in ("delivered", "processed", "pending") for order in customer.orders(status)]:
        total = f"{sum(item['price'] for item in order['items']):.2f}"
        found.append(_asked(order, f"how much order {order['order_id']} came to in total", total, order["items"]))
        for item in customer.items(order)[:2]:
            about = f"what the {item['name']} in order {order['order_id']} cost"
            found.append(_asked(order, about, f"{item['price']:.2f}", [item]))
        for delivery in order.get("fulfillments", [])[:1]:
            about = f"the tracking number of order {order['order_id']}"
            found.append(_asked(order, about, str(delivery["tracking_id"][0]), order["items"]))
    for product in sorted(customer.shuffled(list(customer.data["products"].values())), key=_seldom(customer))[:2]:
        count = sum(variant["available"] for variant in product["variants"].values())
        about = f"how many variants of the {product['name']} can be bought now"
        found.append(Wish("lookup", about, answers=(str(count),), products=(product["product_id"],)))
    yield from customer.shuffled(found)


WISHES: dict[str, Callable[[Customer], Iterator[Wish]]] = {
    "cancel": _cancel,
    "return": _return,
    "exchange": _exchange,
    "modify_items": _modify_items,
    "modify_payment": _modify_payment,
    "modify_address": _modify_address,
    "change_profile_address": _profile,
    "lookup": _lookup,
}


def _write(  # noqa: PLR0913, PLR0917
    order: Document, kind: str, tool: str, arguments: Mapping[str, JsonValue], about: str, items: Sequence[Document]
) -> Wish:
    products = tuple(dict.fromkeys(item["product_id"] for item in items))
    return Wish(kind, f"order {order['order_id']}: {about}", tool, arguments, (), order["order_id"], products)


def _asked(order: Document, about: str, answer: str, items: Sequence[Document]) -> Wish:
    products = tuple(dict.fromkeys(item["product_id"] for item in items))
    return Wish("lookup", about, answers=(answer,), order_id=order["order_id"], products=products)


def _other(customer: Customer, item: Document) -> Document | None:
    """Another variant that can be bought, as like the one at hand as there is: it can be told by few words."""
    product = customer.data["products"].get(item["product_id"], {"variants": {}})
    others = [one for one in product["variants"].values() if one["available"] and one["item_id"] != item["item_id"]]
    alike = {one["item_id"]: _shared(one["options"], item["options"]) for one in others}
    return max(customer.shuffled(others), key=lambda one: alike[one["item_id"]], default=None)


def _shared(one: Mapping[str, str], other: Mapping[str, str]) -> int:
    return sum(other.get(name) == value for name, value in one.items())


def _paying(customer: Customer, difference: float) -> str:
    """A method that can pay it, "" if there is none."""
    able = [name for name, method in customer.methods().items() if method.get("balance", difference) >= difference]
    return customer.random.choice(able) if able else ""


def _address(customer: Customer, present: Document) -> dict[str, str]:
    """Another customer's address: one that exists, in the tools' order of lines."""
    users = list(customer.data["users"].values())
    found = customer.random.choice([user["address"] for user in users if user["address"] != present])
    return {line: found[line] for line in ("address1", "address2", "city", "state", "country", "zip")}


def _seldom(customer: Customer) -> Callable[[Document], int]:
    return lambda product: customer.sold[product["product_id"]]


def _listed(items: Sequence[Document]) -> str:
    return " and ".join(f"the {_item(item)}" for item in items)


def _item(item: Document) -> str:
    return f"{item['name']} ({_options(item['options'])})"


def _options(options: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items())
