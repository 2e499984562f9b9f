"""Scenarios for test tasks: a customer, their orders, and feasible intents, chosen to make a batch diverse.

Deterministic: the same data, seed and kinds give the same scenarios in the same order.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from packs.retail.records import Data, Document
from packs.retail.tasks.intents import INTENTS, Customer, Intent

KINDS = (*INTENTS, "several")
_SEVERAL_COUNT = (2, 4)  # intents of the kind "several", minimum and maximum
DEFAULT_KINDS = (*KINDS, "several", "several")  # unless kinds are given


class NoScenario(Exception):
    """No scenario of these kinds exists for this customer, or for any; the message says so."""


@dataclass(frozen=True)
class Scenario:
    """What a task should be about. The `intents` are feasible in sequence, from the initial state of the data."""

    user_id: str
    user: Document
    orders: tuple[Document, ...]
    products: tuple[Document, ...]
    kind: str
    intents: tuple[Intent, ...]

    def as_json(self) -> dict[str, Any]:
        """The scenario for the model that drafts the task. `scenario.wishes` has the expected calls and answers."""
        kinds = list(dict.fromkeys(intent.kind for intent in self.intents))
        intents = [intent.as_json() for intent in self.intents]
        return {
            "user": {"user_id": self.user_id, **self.user},
            "orders": list(self.orders),
            "products": list(self.products),
            "scenario": {"kinds": kinds, "wishes": intents},
        }


class ScenarioDeck:
    """`deck[n]` is scenario number n. A round of `size` scenarios cycles through the kinds, for different customers.

    With `user_id` all are for that customer. Raises NoScenario if none is possible.
    """

    def __init__(
        self,
        data: Data,
        seed: int | str,
        *,
        kinds: Sequence[str] = DEFAULT_KINDS,
        size: int = 1,
        user_id: str | None = None,
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
        self._used_customers: Counter[str] = Counter()  # by customer
        self._used_products: Counter[str] = Counter()  # by product
        self._used_intents: Counter[str] = Counter()  # by what it is about
        self._dealt: list[Scenario] = []

    def __getitem__(self, number: int) -> Scenario:
        while len(self._dealt) <= number:
            self._dealt.append(self._deal(len(self._dealt)))
        return self._dealt[number]

    def _deal(self, number: int) -> Scenario:
        """A scenario of the next kind in turn, or of the first kind after it that is possible."""
        place = number % self._size
        first = place % len(self._kinds)
        for kind in (*self._kinds[first:], *self._kinds[:first]):
            for user_id in sorted(self._users, key=lambda user_id: self._used_customers[user_id]):
                intents = self._intents(user_id, kind, place)
                if intents:
                    return self._scenario(user_id, kind, intents)
        whom = self._users[0] if len(self._users) == 1 else "any customer"
        raise NoScenario(f"Nothing of the kinds {', '.join(self._kinds)} can be wanted by {whom}.")

    def _intents(self, user_id: str, kind: str, place: int) -> tuple[Intent, ...]:
        customer = Customer(self._data, user_id, self._random, self._used_products)
        if kind != "several":
            intent = self._rarest(customer, INTENTS[kind])
            return (intent,) if intent else ()
        least, most = _SEVERAL_COUNT
        count = least + place // len(self._kinds) % (most - least + 1)  # the number varies from turn to turn
        intents: list[Intent] = []
        for make in self._random.sample(list(INTENTS.values()), len(INTENTS)):
            if len(intents) < count and (intent := self._rarest(customer, make)):
                intents.append(intent)
                customer = customer.without(intent)
        writes = sum(bool(intent.tool) for intent in intents)
        return tuple(intents) if len(intents) == count and writes >= least else ()

    def _rarest(self, customer: Customer, make: Callable[[Customer], Iterator[Intent]]) -> Intent | None:
        """The intent that was used least often so far."""
        return min(make(customer), key=lambda intent: self._used_intents[intent.about], default=None)

    def _scenario(self, user_id: str, kind: str, intents: tuple[Intent, ...]) -> Scenario:
        data = self._data
        order_ids = dict.fromkeys(intent.order_id for intent in intents if intent.order_id)
        product_ids = dict.fromkeys(product for intent in intents for product in intent.products)
        self._used_customers[user_id] += 1
        self._used_products.update(product_ids.keys())
        self._used_intents.update(intent.about for intent in intents)
        orders = tuple(data["orders"][order_id] for order_id in order_ids)
        products = tuple(data["products"][product_id] for product_id in product_ids)
        return Scenario(user_id, data["users"][user_id], orders, products, kind, intents)
