"""Customer intents: for each kind, what the store's tools and rules allow in its initial state."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from pydantic import JsonValue

from packs.retail.data import Data, Document
from packs.retail.writes import CANCEL_REASONS


@dataclass(frozen=True)
class Intent:
    """One intent. With `tool` "" it is a question that changes nothing and expects `answers`. `about` describes it."""

    kind: str
    about: str
    tool: str = ""
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    order_id: str = ""
    products: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        fields = {"kind": self.kind, "about": self.about, "answers": list(self.answers)}
        return fields | ({"tool": self.tool, "arguments": dict(self.arguments)} if self.tool else {})


@dataclass(frozen=True)
class Customer:
    """One customer with their remaining options: no order is used twice, no gift card spent twice."""

    data: Data
    user_id: str
    random: Random
    sold: Counter[str]  # products of earlier tasks: others are preferred
    taken: frozenset[str] = frozenset()  # orders, kinds and gift cards of earlier intents

    @property
    def user(self) -> Document:
        return self.data["users"][self.user_id]

    def orders(self, status: str) -> list[Document]:
        orders = [self.data["orders"][order_id] for order_id in self.user["orders"] if order_id not in self.taken]
        return self.shuffled([order for order in orders if order["status"] == status])

    def methods(self) -> dict[str, Document]:
        return {name: method for name, method in self.user["payment_methods"].items() if name not in self.taken}

    def without(self, intent: Intent) -> "Customer":
        """The customer without the order, the kind and the gift cards of this intent."""
        cards = {name for name in self.user["payment_methods"] if "gift_card" in name} if intent.tool else set()
        return replace(self, taken=self.taken | {intent.order_id, intent.kind} | cards)

    def shuffled[T](self, values: Sequence[T]) -> list[T]:
        return self.random.sample(list(values), len(values))

    def items(self, order: Document) -> list[Document]:
        """The items that occur once in the order, those of rarely used products first."""
        counts = Counter(item["item_id"] for item in order["items"])
        single = [item for item in order["items"] if counts[item["item_id"]] == 1]
        return sorted(self.shuffled(single), key=lambda item: self.sold[item["product_id"]])


def _cancel(customer: Customer) -> Iterator[Intent]:
    for order in customer.orders("pending"):
        reason = customer.random.choice(CANCEL_REASONS)
        arguments: dict[str, JsonValue] = {"order_id": order["order_id"], "reason": reason}
        yield _write(
            order, "cancel", "cancel_pending_order", arguments, f"cancel the whole order: {reason}", order["items"]
        )


def _return(customer: Customer) -> Iterator[Intent]:
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


def _exchange(customer: Customer) -> Iterator[Intent]:
    yield from _replacing(customer, "delivered", "exchange", "exchange_delivered_order_items")


def _modify_items(customer: Customer) -> Iterator[Intent]:
    yield from _replacing(customer, "pending", "modify_items", "modify_pending_order_items")


def _replacing(customer: Customer, status: str, kind: str, tool: str) -> Iterator[Intent]:
    for order in customer.orders(status):
        count = customer.random.randint(1, 2)
        pairs = [(item, new) for item in customer.items(order) if (new := _other(customer, item))][:count]
        difference = sum(new["price"] - item["price"] for item, new in pairs)
        method = _paying(customer, difference)
        if pairs and method:
            arguments: dict[str, JsonValue] = {
                "order_id": order["order_id"],
                "item_ids": [item["item_id"] for item, _ in pairs],
                "new_item_ids": [new["item_id"] for _, new in pairs],
                "payment_method_id": method,
            }
            replacements = [f"the {_item(item)} for the one with {_options(new['options'])}" for item, new in pairs]
            about = f"replace {' and '.join(replacements)}; the difference goes to {method}"
            yield _write(order, kind, tool, arguments, about, [item for item, _ in pairs])


def _modify_payment(customer: Customer) -> Iterator[Intent]:
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


def _modify_address(customer: Customer) -> Iterator[Intent]:
    for order in customer.orders("pending"):
        address = _address(customer, order["address"])
        about = f"send the order to {', '.join(filter(None, address.values()))}"
        arguments: dict[str, JsonValue] = {"order_id": order["order_id"], **address}
        yield _write(order, "modify_address", "modify_pending_order_address", arguments, about, order["items"])


def _profile(customer: Customer) -> Iterator[Intent]:
    if "change_profile_address" not in customer.taken:
        address = _address(customer, customer.user["address"])
        about = f"make {', '.join(filter(None, address.values()))} the default address of the profile"
        arguments: dict[str, JsonValue] = {"user_id": customer.user_id, **address}
        yield Intent("change_profile_address", about, "modify_user_address", arguments)


def _lookup(customer: Customer) -> Iterator[Intent]:
    """Questions with one right answer that other intents do not change."""
    if "lookup" in customer.taken:
        return
    intents: list[Intent] = []
    for order in [order for status in ("delivered", "processed", "pending") for order in customer.orders(status)]:
        total = f"{sum(item['price'] for item in order['items']):.2f}"
        intents.append(_question(order, f"how much order {order['order_id']} came to in total", total, order["items"]))
        for item in customer.items(order)[:2]:
            about = f"what the {item['name']} in order {order['order_id']} cost"
            intents.append(_question(order, about, f"{item['price']:.2f}", [item]))
        for delivery in order.get("fulfillments", [])[:1]:
            about = f"the tracking number of order {order['order_id']}"
            intents.append(_question(order, about, str(delivery["tracking_id"][0]), order["items"]))
    for product in sorted(customer.shuffled(list(customer.data["products"].values())), key=_seldom(customer))[:2]:
        count = sum(variant["available"] for variant in product["variants"].values())
        about = f"how many variants of the {product['name']} can be bought now"
        intents.append(Intent("lookup", about, answers=(str(count),), products=(product["product_id"],)))
    yield from customer.shuffled(intents)


INTENTS: dict[str, Callable[[Customer], Iterator[Intent]]] = {
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
) -> Intent:
    products = tuple(dict.fromkeys(item["product_id"] for item in items))
    return Intent(kind, f"order {order['order_id']}: {about}", tool, arguments, (), order["order_id"], products)


def _question(order: Document, about: str, answer: str, items: Sequence[Document]) -> Intent:
    products = tuple(dict.fromkeys(item["product_id"] for item in items))
    return Intent("lookup", about, answers=(answer,), order_id=order["order_id"], products=products)


def _other(customer: Customer, item: Document) -> Document | None:
    """The most similar other variant that is available; few words describe the difference."""
    product = customer.data["products"].get(item["product_id"], {"variants": {}})
    others = [
        variant
        for variant in product["variants"].values()
        if variant["available"] and variant["item_id"] != item["item_id"]
    ]
    alike = {variant["item_id"]: _common_options(variant["options"], item["options"]) for variant in others}
    return max(customer.shuffled(others), key=lambda one: alike[one["item_id"]], default=None)


def _common_options(options: Mapping[str, str], other: Mapping[str, str]) -> int:
    return sum(other.get(name) == value for name, value in options.items())


def _paying(customer: Customer, difference: float) -> str:
    """A payment method that covers the difference, "" if there is none."""
    able = [name for name, method in customer.methods().items() if method.get("balance", difference) >= difference]
    return customer.random.choice(able) if able else ""


def _address(customer: Customer, present: Document) -> dict[str, str]:
    """Another customer's address, with its lines in the order of the tools' arguments."""
    users = list(customer.data["users"].values())
    address = customer.random.choice([user["address"] for user in users if user["address"] != present])
    return {line: address[line] for line in ("address1", "address2", "city", "state", "country", "zip")}


def _seldom(customer: Customer) -> Callable[[Document], int]:
    return lambda product: customer.sold[product["product_id"]]


def _listed(items: Sequence[Document]) -> str:
    return " and ".join(f"the {_item(item)}" for item in items)


def _item(item: Document) -> str:
    return f"{item['name']} ({_options(item['options'])})"


def _options(options: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items())
