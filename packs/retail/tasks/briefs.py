"""Briefs: a customer, their orders and wishes that can be carried out, dealt so that a batch is as varied as it can be.

Deterministic: the same data, seed and kinds give the same briefs in the same order, whoever asks for them.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, get_args

from packs.retail.data import Data, Document
from packs.retail.tasks.wishes import WISHES, Customer, Wish

Kind = Literal[
    "cancel",
    "return",
    "exchange",
    "modify_items",
    "modify_payment",
    "modify_address",
    "change_profile_address",
    "lookup",
    "several",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
_TOGETHER = (2, 4)  # wishes of "several", at least and at most
DEALT: tuple[Kind, ...] = (*KINDS, "several", "several")  # unless kinds are asked for


class NoScenario(Exception):
    """There is nothing of these kinds that this customer (or anybody) could want; says so."""


@dataclass(frozen=True)
class Brief:
    """What a task is to be about. `wishes` are feasible, one after the other, in the data's first state."""

    user_id: str
    user: Document
    orders: tuple[Document, ...]
    products: tuple[Document, ...]
    kind: Kind
    wishes: tuple[Wish, ...]

    def as_json(self) -> dict[str, Any]:
        """For whoever drafts the task; `scenario.wishes` name the calls and answers that are right."""
        kinds = list(dict.fromkeys(wish.kind for wish in self.wishes))
        wishes = [wish.as_json() for wish in self.wishes]
        return {
            "user": {"user_id": self.user_id, **self.user},
            "orders": list(self.orders),
            "products": list(self.products),
            "scenario": {"kinds": kinds, "wishes": wishes},
        }


class Deck:
    """`deck[n]` is brief number n; those of a round (`size`) are of every kind in turn, for different customers.

    With `user_id` all are for that customer. Raises NoScenario where nothing fits.
    """

    def __init__(
        self, data: Data, seed: int, *, kinds: Sequence[Kind] = DEALT, size: int = 1, user_id: str | None = None
    ) -> None:
        if user_id is not None and user_id not in data["users"]:
            raise NoScenario(f"There is no customer {user_id} in this data.")
        if unknown := [kind for kind in kinds if kind not in KINDS]:
            raise NoScenario(f"There are no tasks of kind {', '.join(unknown)}: they are {', '.join(KINDS)}.")
        self._data, self._size = data, max(size, 1)
        self._random = Random(f"{seed} {','.join(kinds)} {user_id or ''}")  # noqa: S311 - a sample, no secret
        self._kinds = self._random.sample(list(kinds), len(kinds))
        users = [user_id] if user_id else list(data["users"])
        self._users = self._random.sample(users, len(users))
        self._used: Counter[str] = Counter()  # customers
        self._sold: Counter[str] = Counter()  # products that a task was about
        self._asked: Counter[str] = Counter()  # wishes, by what they are
        self._dealt: list[Brief] = []

    def __getitem__(self, number: int) -> Brief:
        while len(self._dealt) <= number:
            self._dealt.append(self._deal(len(self._dealt)))
        return self._dealt[number]

    def _deal(self, number: int) -> Brief:
        """Of the kind that is due, or the next one that anybody can want."""
        place = number % self._size
        for kind in (self._kinds[(place + step) % len(self._kinds)] for step in range(len(self._kinds))):
            for user_id in sorted(self._users, key=lambda one: self._used[one]):
                wishes = self._wishes(user_id, kind, place)
                if wishes:
                    return self._brief(user_id, kind, wishes)
        whom = self._users[0] if len(self._users) == 1 else "any customer"
        raise NoScenario(f"Nothing of the kinds {', '.join(self._kinds)} can be wanted by {whom}.")

    def _wishes(self, user_id: str, kind: Kind, place: int) -> tuple[Wish, ...]:
        customer = Customer(self._data, user_id, self._random, self._sold)
        if kind != "several":
            wish = self._one(customer, WISHES[kind])
            return (wish,) if wish else ()
        least, most = _TOGETHER
        wanted = least + place // len(self._kinds) % (most - least + 1)  # each time it is due, another number
        found: list[Wish] = []
        for make in self._random.sample(list(WISHES.values()), len(WISHES)):
            if len(found) < wanted and (wish := self._one(customer, make)):
                found.append(wish)
                customer = customer.without(wish)
        writes = sum(bool(wish.tool) for wish in found)
        return tuple(found) if len(found) == wanted and writes >= least else ()

    def _one(self, customer: Customer, make: Callable[[Customer], Iterator[Wish]]) -> Wish | None:
        """What was wanted least often so far."""
        return min(make(customer), key=lambda wish: self._asked[repr(wish.as_json())], default=None)

    def _brief(self, user_id: str, kind: Kind, wishes: tuple[Wish, ...]) -> Brief:
        data = self._data
        order_ids = dict.fromkeys(wish.order_id for wish in wishes if wish.order_id)
        product_ids = dict.fromkeys(product for wish in wishes for product in wish.products)
        self._used[user_id] += 1
        self._sold.update(product_ids.keys())
        self._asked.update(repr(wish.as_json()) for wish in wishes)
        orders = tuple(data["orders"][order_id] for order_id in order_ids)
        products = tuple(data["products"][product_id] for product_id in product_ids)
        return Brief(user_id, data["users"][user_id], orders, products, kind, wishes)
