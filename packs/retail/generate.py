"""The project's own sample world: a shop of 500 customers, 1,000 orders and 50 products, in tau-bench's retail schema.

Pure: the same seed gives the same bytes, on every Python. `random.Random` promises that for `random()` alone (its other
methods may change between versions), so everything below is drawn through it; and sums are made of whole cents.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product as every_combination
from random import Random

from packs.retail.catalogue import PRODUCTS, Product
from packs.retail.data import Data, Document
from packs.retail.people import BRANDS, CITIES, FIRST_NAMES, LAST_NAMES, STREETS, UNITS

DEFAULT_SEED = 7
USERS, ORDERS, WITHOUT_ORDERS = 500, 1000, 62
VARIANTS = (5, 19)  # of a product, at least and at most
SPREAD = 0.3  # how far the dearest variant of a product lies above the cheapest, as a part of its price
STATUSES = (("pending", 0.42), ("delivered", 0.37), ("processed", 0.11), ("cancelled", 0.10))
ITEM_COUNTS = ((1, 0.20), (2, 0.22), (3, 0.19), (4, 0.18), (5, 0.21))
PAYMENT_COUNTS = ((1, 0.65), (2, 0.27), (3, 0.06), (4, 0.02))


class Dice:
    """Draws, all made of `random()`; `number` never gives the same number of a kind twice."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - a sample that comes out the same again, no secret
        self._given: set[tuple[str, int]] = set()

    def below(self, limit: int) -> int:
        return int(self._random.random() * limit)

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def one[T](self, of: Sequence[T]) -> T:
        return of[self.below(len(of))]

    def weighted[T](self, shares: Sequence[tuple[T, float]]) -> T:
        rest = self._random.random()
        for value, share in shares:
            rest -= share
            if rest < 0:
                return value
        return shares[-1][0]

    def some[T](self, count: int, of: Sequence[T]) -> list[T]:
        """So many of them, none twice, in any order."""
        left = list(of)
        return [left.pop(self.below(len(left))) for _ in range(min(count, len(left)))]

    def number(self, kind: str, digits: int) -> str:
        while (drawn := (kind, 10 ** (digits - 1) + self.below(9 * 10 ** (digits - 1)))) in self._given:
            pass
        self._given.add(drawn)
        return str(drawn[1])


def generate(seed: int = DEFAULT_SEED) -> Data:
    """The whole world, of plain JSON values, every reference in it resolved."""
    dice = Dice(seed)
    products = dict(_product(dice, one) for one in dice.some(len(PRODUCTS), PRODUCTS))
    users = dict(_user(dice, place) for place in _residents(dice))
    shelf = [_item(one, variant) for one in products.values() for variant in one["variants"].values()]
    orders = dict(_order(dice, user_id, users[user_id], shelf) for user_id in _buyers(dice, list(users)))
    for order_id, order in orders.items():
        users[order["user_id"]]["orders"].append(order_id)
    return Data(users=users, products=products, orders=orders)


# --- products


def _product(dice: Dice, sold: Product) -> tuple[str, Document]:
    combinations = [
        dict(zip(sold.options, values, strict=True)) for values in every_combination(*sold.options.values())
    ]
    least, most = VARIANTS
    chosen = dice.some(least + dice.below(most - least + 1), combinations)
    variants = [_variant(dice, sold.price, options, sure=place < 2) for place, options in enumerate(chosen)]
    product_id = dice.number("product", 10)
    mixed = {one["item_id"]: one for one in dice.some(len(variants), variants)}
    return product_id, {"name": sold.name, "product_id": product_id, "variants": mixed}


def _variant(dice: Dice, price: int, options: dict[str, str], *, sure: bool) -> Document:
    """One thing on the shelf; two of a product are surely there: any item can be exchanged."""
    cents = int(price * 100 * (1 - SPREAD / 2)) + dice.below(int(price * 100 * SPREAD))
    return {
        "item_id": dice.number("item", 10),
        "options": {**options},
        "available": dice.chance(0.57) or sure,
        "price": cents / 100,
    }


def _item(sold: Document, variant: Document) -> Document:
    """How an order lists a variant."""
    return {
        "name": sold["name"],
        "product_id": sold["product_id"],
        "item_id": variant["item_id"],
        "price": variant["price"],
        "options": variant["options"],
    }


# --- users


def _residents(dice: Dice) -> Iterator[tuple[str, str, Document]]:
    """First name, last name and address of everybody: nobody shares a full name and a zip code with anybody."""
    known: set[tuple[str, str, str]] = set()
    while len(known) < USERS:
        first, last, address = dice.one(FIRST_NAMES), dice.one(LAST_NAMES), _address(dice)
        if (key := (first, last, address["zip"])) not in known:
            known.add(key)
            yield first, last, address


def _address(dice: Dice) -> Document:
    city, state, prefix = dice.one(CITIES)
    return {
        "address1": f"{1 + dice.below(989)} {dice.one(STREETS)}",
        "address2": f"{dice.one(UNITS)} {1 + dice.below(99)}",
        "city": city,
        "country": "USA",
        "state": state,
        "zip": f"{prefix}{dice.below(100):02}",
    }


def _user(dice: Dice, resident: tuple[str, str, Document]) -> tuple[str, Document]:
    first, last, address = resident
    handle = f"{first}_{last}".lower()
    methods = [dice.one(_METHODS)(dice) for _ in range(dice.weighted(PAYMENT_COUNTS))]
    return f"{handle}_{dice.number(handle, 4)}", {
        "name": {"first_name": first, "last_name": last},
        "address": address,
        "email": f"{handle.replace('_', '.')}{dice.number(f'{handle}@', 4)}@example.com",
        "payment_methods": {one["id"]: one for one in methods},
        "orders": [],
    }


def _card(dice: Dice) -> Document:
    return {
        "source": "credit_card",
        "brand": dice.one(BRANDS),
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
    """Whose each order is: a few never bought anything, everybody else did at least once."""
    customers = dice.some(USERS - WITHOUT_ORDERS, user_ids)
    again = [dice.one(customers) for _ in range(ORDERS - len(customers))]
    return dice.some(ORDERS, customers + again)


def _order(dice: Dice, user_id: str, user: Document, shelf: list[Document]) -> tuple[str, Document]:
    order_id, status = f"#W{dice.number('order', 7)}", dice.weighted(STATUSES)
    items = dice.some(dice.weighted(ITEM_COUNTS), shelf)
    if len(items) > 1 and dice.chance(0.01):
        items[-1] = items[0]  # now and then somebody buys the same thing twice
    paid = sum(round(item["price"] * 100) for item in items) / 100
    with_method = dice.one(list(user["payment_methods"]))
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
