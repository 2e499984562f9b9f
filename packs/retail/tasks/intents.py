"""Customer intents: for each kind, what the store's tools and rules allow in its initial state."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import Any

from pydantic import JsonValue

from packs.retail.records import Data, Document
from packs.retail.writes import CANCEL_REASONS

KIND_OF_TOOL = {
    "cancel_pending_order": "cancel",
    "return_delivered_order_items": "return",
    "exchange_delivered_order_items": "exchange",
    "modify_pending_order_items": "modify_items",
    "modify_pending_order_payment": "modify_payment",
    "modify_pending_order_address": "modify_address",
    "modify_user_address": "change_profile_address",
}


@dataclass(frozen=True)
class Intent:
    """One intent. With `tool` "" it is a question that changes nothing and expects `answers`. `about` describes it."""

    about: str
    tool: str = ""
    arguments: Mapping[str, JsonValue] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    order_id: str = ""
    products: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        return KIND_OF_TOOL.get(self.tool, "lookup")

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
        yield _write("cancel_pending_order", order, f"cancel the whole order: {reason}", order["items"], reason=reason)


def _return(customer: Customer) -> Iterator[Intent]:
    for order in customer.orders("delivered"):
        items = customer.items(order)
        chosen = items[: customer.random.randint(1, min(3, len(items)))] if items else []
        paid = order["payment_history"][0]["payment_method_id"]
        cards = [name for name in customer.methods() if "gift_card" in name]
        method = customer.random.choice([paid, paid, *cards])
        if chosen:
            about = f"return {' and '.join(f'the {_item(item)}' for item in chosen)}, refund to {method}"
            ids: JsonValue = [item["item_id"] for item in chosen]
            tool = "return_delivered_order_items"
            yield _write(tool, order, about, chosen, item_ids=ids, payment_method_id=method)


def _replace(customer: Customer, status: str, tool: str) -> Iterator[Intent]:
    """Items for other variants: an exchange of a delivered order, or a change of a pending one."""
    for order in customer.orders(status):
        count = customer.random.randint(1, 2)
        pairs = [(item, new) for item in customer.items(order) if (new := _other(customer, item))][:count]
        method = _paying(customer, sum(new["price"] - item["price"] for item, new in pairs))
        if pairs and method:
            replacements = [f"the {_item(item)} for the one with {_options(new['options'])}" for item, new in pairs]
            about = f"replace {' and '.join(replacements)}; the difference goes to {method}"
            old: JsonValue = [item["item_id"] for item, _ in pairs]
            new_ids: JsonValue = [new["item_id"] for _, new in pairs]
            items = [item for item, _ in pairs]
            yield _write(tool, order, about, items, item_ids=old, new_item_ids=new_ids, payment_method_id=method)


def _modify_payment(customer: Customer) -> Iterator[Intent]:
    for order in customer.orders("pending"):
        history = order["payment_history"]
        amount, paid = history[0]["amount"], history[0]["payment_method_id"]
        methods = customer.methods().items()
        others = [name for name, method in methods if name != paid and method.get("balance", amount) >= amount]
        if len(history) == 1 and others:
            method = customer.random.choice(others)
            about = f"pay the order with {method} instead of {paid}"
            yield _write("modify_pending_order_payment", order, about, order["items"], payment_method_id=method)


def _modify_address(customer: Customer) -> Iterator[Intent]:
    for order in customer.orders("pending"):
        address = _address(customer, order["address"])
        about = f"send the order to {', '.join(filter(None, address.values()))}"
        yield _write("modify_pending_order_address", order, about, order["items"], **address)


def _profile(customer: Customer) -> Iterator[Intent]:
    if "change_profile_address" not in customer.taken:
        address = _address(customer, customer.user["address"])
        about = f"make {', '.join(filter(None, address.values()))} the default address of the profile"
        yield Intent(about, "modify_user_address", {"user_id": customer.user_id, **address})


def _lookup(customer: Customer) -> Iterator[Intent]:
    """Questions with one right answer that other intents do not change."""
    if "lookup" in customer.taken:
        return
    intents: list[Intent] = []
    for order in [order for status in ("delivered", "processed", "pending") for order in customer.orders(status)]:
        order_id, items = order["order_id"], order["items"]
        total = f"{sum(item['price'] for item in items):.2f}"
        intents.append(_question(order, f"how much order {order_id} came to in total", total, items))
        for item in customer.items(order)[:2]:
            about = f"what the {item['name']} in order {order_id} cost"
            intents.append(_question(order, about, f"{item['price']:.2f}", [item]))
        for delivery in order.get("fulfillments", [])[:1]:
            about = f"the tracking number of order {order_id}"
            intents.append(_question(order, about, str(delivery["tracking_id"][0]), items))
    products = customer.shuffled(list(customer.data["products"].values()))
    for product in sorted(products, key=lambda product: customer.sold[product["product_id"]])[:2]:
        count = sum(variant["available"] for variant in product["variants"].values())
        about = f"how many variants of the {product['name']} can be bought now"
        intents.append(Intent(about, answers=(str(count),), products=(product["product_id"],)))
    yield from customer.shuffled(intents)


INTENTS: dict[str, Callable[[Customer], Iterator[Intent]]] = {
    "cancel": _cancel,
    "return": _return,
    "exchange": partial(_replace, status="delivered", tool="exchange_delivered_order_items"),
    "modify_items": partial(_replace, status="pending", tool="modify_pending_order_items"),
    "modify_payment": _modify_payment,
    "modify_address": _modify_address,
    "change_profile_address": _profile,
    "lookup": _lookup,
}


def _write(tool: str, order: Document, about: str, items: Sequence[Document], **arguments: JsonValue) -> Intent:
    order_id = order["order_id"]
    arguments = {"order_id": order_id, **arguments}
    return Intent(f"order {order_id}: {about}", tool, arguments, order_id=order_id, products=_products(items))


def _question(order: Document, about: str, answer: str, items: Sequence[Document]) -> Intent:
    return Intent(about, answers=(answer,), order_id=order["order_id"], products=_products(items))


def _products(items: Sequence[Document]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item["product_id"] for item in items))


def _other(customer: Customer, item: Document) -> Document | None:
    """The most similar other variant that is available; few words describe the difference."""
    product = customer.data["products"].get(item["product_id"], {"variants": {}})
    variants = [variant for variant in product["variants"].values() if variant["available"]]
    others = [variant for variant in variants if variant["item_id"] != item["item_id"]]

    def common_options(variant: Document) -> int:
        return sum(item["options"].get(name) == value for name, value in variant["options"].items())

    return max(customer.shuffled(others), key=common_options, default=None)


def _paying(customer: Customer, difference: float) -> str:
    """A payment method that covers the difference, "" if there is none."""
    able = [name for name, method in customer.methods().items() if method.get("balance", difference) >= difference]
    return customer.random.choice(able) if able else ""


def _address(customer: Customer, present: Document) -> dict[str, str]:
    """Another customer's address, with its lines in the order of the tools' arguments."""
    users = list(customer.data["users"].values())
    address = customer.random.choice([user["address"] for user in users if user["address"] != present])
    return {line: address[line] for line in ("address1", "address2", "city", "state", "country", "zip")}


def _item(item: Document) -> str:
    return f"{item['name']} ({_options(item['options'])})"


def _options(options: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in options.items())
