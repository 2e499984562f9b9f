"""Generates the sample store: 500 customers, 1,000 orders and 50 products, in tau-bench's retail schema.

Pure: a seed gives the same bytes on every Python version. `random.Random` guarantees this only for `random()`, so all
draws go through it. Sums are computed in whole cents.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product as every_combination
from random import Random

from packs.retail.products import BRANDS, CITIES, FIRST_NAMES, LAST_NAMES, PRODUCTS, STREETS, UNITS, CatalogueProduct
from packs.retail.records import Data, Document

DEFAULT_SEED = 7
USERS, ORDERS, WITHOUT_ORDERS = 500, 1000, 62
VARIANTS = (5, 19)  # per product, minimum and maximum
SPREAD = 0.3  # price range of a product's variants, as a share of its price
STATUSES = (("pending", 0.42), ("delivered", 0.37), ("processed", 0.11), ("cancelled", 0.10))
ITEM_COUNTS = ((1, 0.20), (2, 0.22), (3, 0.19), (4, 0.18), (5, 0.21))
PAYMENT_COUNTS = ((1, 0.65), (2, 0.27), (3, 0.06), (4, 0.02))


class Dice:
    """Random draws based on `random()` alone. `number` never returns the same number of a kind twice."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - a sample that comes out the same again, no secret
        self._drawn: set[tuple[str, int]] = set()

    def below(self, limit: int) -> int:
        return int(self._random.random() * limit)

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def pick[T](self, of: Sequence[T]) -> T:
        return of[self.below(len(of))]

    def weighted[T](self, shares: Sequence[tuple[T, float]]) -> T:
        rest = self._random.random()
        for value, share in shares:
            rest -= share
            if rest < 0:
                return value
        return shares[-1][0]

    def sample[T](self, count: int, of: Sequence[T]) -> list[T]:
        """`count` distinct elements in random order."""
        left = list(of)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]

    def number(self, kind: str, digits: int) -> str:
        while (drawn := (kind, 10 ** (digits - 1) + self.below(9 * 10 ** (digits - 1)))) in self._drawn:
            pass
        self._drawn.add(drawn)
        return str(drawn[1])


def generate(seed: int = DEFAULT_SEED) -> Data:
    """The store's data as plain JSON values, with valid references."""
    dice = Dice(seed)
    products = dict(_product(dice, sold) for sold in dice.sample(len(PRODUCTS), PRODUCTS))
    users = dict(_user(dice, place) for place in _residents(dice))
    inventory = [_item(sold, variant) for sold in products.values() for variant in sold["variants"].values()]
    orders = dict(_order(dice, user_id, users[user_id], inventory) for user_id in _buyers(dice, list(users)))
    for order_id, order in orders.items():
        users[order["user_id"]]["orders"].append(order_id)
    return Data(users=users, products=products, orders=orders)


# --- products


def _product(dice: Dice, product: CatalogueProduct) -> tuple[str, Document]:
    combinations = [
        dict(zip(product.options, values, strict=True)) for values in every_combination(*product.options.values())
    ]
    least, most = VARIANTS
    chosen = dice.sample(least + dice.below(most - least + 1), combinations)
    variants = [_variant(dice, product.price, options, sure=place < 2) for place, options in enumerate(chosen)]
    product_id = dice.number("product", 10)
    mixed = {variant["item_id"]: variant for variant in dice.sample(len(variants), variants)}
    return product_id, {"name": product.name, "product_id": product_id, "variants": mixed}


def _variant(dice: Dice, price: int, options: dict[str, str], *, sure: bool) -> Document:
    """One variant. With `sure` it is available: two of a product always are, so that any item can be exchanged."""
    cents = int(price * 100 * (1 - SPREAD / 2)) + dice.below(int(price * 100 * SPREAD))
    return {
        "item_id": dice.number("item", 10),
        "options": {**options},
        "available": dice.chance(0.57) or sure,
        "price": cents / 100,
    }


def _item(product: Document, variant: Document) -> Document:
    """The variant as an item of an order."""
    return {
        "name": product["name"],
        "product_id": product["product_id"],
        "item_id": variant["item_id"],
        "price": variant["price"],
        "options": variant["options"],
    }


# --- users


def _residents(dice: Dice) -> Iterator[tuple[str, str, Document]]:
    """First name, last name and address of each customer. Full name and zip code together are unique."""
    known: set[tuple[str, str, str]] = set()
    while len(known) < USERS:
        first, last, address = dice.pick(FIRST_NAMES), dice.pick(LAST_NAMES), _address(dice)
        if (key := (first, last, address["zip"])) not in known:
            known.add(key)
            yield first, last, address


def _address(dice: Dice) -> Document:
    city, state, prefix = dice.pick(CITIES)
    return {
        "address1": f"{1 + dice.below(989)} {dice.pick(STREETS)}",
        "address2": f"{dice.pick(UNITS)} {1 + dice.below(99)}",
        "city": city,
        "country": "USA",
        "state": state,
        "zip": f"{prefix}{dice.below(100):02}",
    }


def _user(dice: Dice, resident: tuple[str, str, Document]) -> tuple[str, Document]:
    first, last, address = resident
    handle = f"{first}_{last}".lower()
    methods = [dice.pick(_METHODS)(dice) for _ in range(dice.weighted(PAYMENT_COUNTS))]
    return f"{handle}_{dice.number(handle, 4)}", {
        "name": {"first_name": first, "last_name": last},
        "address": address,
        "email": f"{handle.replace('_', '.')}{dice.number(f'{handle}@', 4)}@example.com",
        "payment_methods": {method["id"]: method for method in methods},
        "orders": [],
    }


def _card(dice: Dice) -> Document:
    return {
        "source": "credit_card",
        "brand": dice.pick(BRANDS),
        "last_four": f"{dice.below(10_000):04}",
        "id": _method_id(dice, "credit_card"),
    }


def _gift_card(dice: Dice) -> Document:
    return {"source": "gift_card", "balance": dice.below(101), "id": _method_id(dice, "gift_card")}


def _paypal(dice: Dice) -> Document:
    return {"source": "paypal", "id": _method_id(dice, "paypal")}


def _method_id(dice: Dice, source: str) -> str:
    return f"{source}_{dice.number(source, 7)}"


_METHODS: tuple[Callable[[Dice], Document], ...] = (_card, _gift_card, _paypal)


# --- orders


def _buyers(dice: Dice, user_ids: list[str]) -> list[str]:
    """The customer of each order. A few customers have no order, all others at least one."""
    customers = dice.sample(USERS - WITHOUT_ORDERS, user_ids)
    again = [dice.pick(customers) for _ in range(ORDERS - len(customers))]
    return dice.sample(ORDERS, customers + again)


def _order(dice: Dice, user_id: str, user: Document, inventory: list[Document]) -> tuple[str, Document]:
    order_id, status = f"#W{dice.number('order', 7)}", dice.weighted(STATUSES)
    items = dice.sample(dice.weighted(ITEM_COUNTS), inventory)
    if len(items) > 1 and dice.chance(0.01):
        items[-1] = items[0]  # occasionally an order has the same item twice
    paid = sum(round(item["price"] * 100) for item in items) / 100
    with_method = dice.pick(list(user["payment_methods"]))
    kinds = ("payment", "refund") if status == "cancelled" else ("payment",)
    return order_id, {
        "order_id": order_id,
        "user_id": user_id,
        "address": {**user["address"]} if dice.chance(0.8) else _address(dice),
        "items": [{**item, "options": {**item["options"]}} for item in items],
        "fulfillments": [] if status == "pending" else [_parcel(dice, items)],
        "status": status,
        "payment_history": [
            {"transaction_type": kind, "amount": paid, "payment_method_id": with_method} for kind in kinds
        ],
    }


def _parcel(dice: Dice, items: list[Document]) -> Document:
    return {"tracking_id": [dice.number("tracking", 12)], "item_ids": [item["item_id"] for item in items]}
