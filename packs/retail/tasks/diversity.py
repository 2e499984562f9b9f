"""Measures the diversity of a batch of tasks."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from packs.retail.tasks.intents import KIND_OF_TOOL
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.subject import subject_of
from packs.retail.tasks.task import RetailTask, words_of


class Diversity(NamedTuple):
    """Diversity measures. `actions` counts tasks by their number of calls.

    `likeness` is the mean word overlap of two instructions, 0 to 1; None below two tasks.
    """

    tasks: int
    users: int
    products: int
    kinds: dict[str, int]
    tools: dict[str, int]
    actions: dict[int, int]
    likeness: float | None


def measure_diversity(tasks: Sequence[RetailTask], shop: Shop) -> Diversity:
    """The measures of these tasks."""
    words = [frozenset(words_of(task)) for task in tasks]
    shares = [len(left & right) / len(left | right) for left, right in combinations(words, 2) if left | right]
    return Diversity(
        tasks=len(tasks),
        users=len({user for task in tasks for user in subject_of(task, shop).users[:1]}),
        products=len({product for task in tasks for product in _changed_products(task, shop)}),
        kinds=dict(Counter(_kind_of(task) for task in tasks).most_common()),
        tools=dict(Counter(call.name for task in tasks for call in task.agt).most_common()),
        actions=dict(sorted(Counter(len(task.agt) for task in tasks).items())),
        likeness=round(sum(shares) / len(shares), 3) if shares else None,
    )


def _kind_of(task: RetailTask) -> str:
    kinds = {KIND_OF_TOOL[call.name] for call in task.writes}
    return kinds.pop() if len(kinds) == 1 and not task.ogt else "several" if kinds else "lookup"


def _changed_products(task: RetailTask, shop: Shop) -> set[str]:
    """The products that the writes change."""
    products: set[str] = set()
    for call in task.writes:
        order = shop.data["orders"].get(str(call.arguments.get("order_id")), {"items": []})
        items = call.arguments.get("item_ids")
        chosen = items if isinstance(items, list) else [item["item_id"] for item in order["items"]]
        products |= {item["product_id"] for item in order["items"] if item["item_id"] in chosen}
    return products
