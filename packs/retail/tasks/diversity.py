"""Measures the diversity of a batch of tasks."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from packs.retail.tasks import subject
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import RetailTask, TaskModel, same_words

TOOL_KINDS = {
    "cancel_pending_order": "cancel",
    "return_delivered_order_items": "return",
    "exchange_delivered_order_items": "exchange",
    "modify_pending_order_items": "modify_items",
    "modify_pending_order_payment": "modify_payment",
    "modify_pending_order_address": "modify_address",
    "modify_user_address": "change_profile_address",
}


class Diversity(TaskModel):
    """Diversity measures. `likeness` is the mean word overlap of two instructions, 0 to 1; None below two tasks."""

    tasks: int
    users: int
    products: int
    kinds: dict[str, int]
    tools: dict[str, int]
    actions: dict[int, int]
    likeness: float | None

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def measure_diversity(tasks: Sequence[RetailTask], shop: Shop) -> Diversity:
    """The measures of these tasks. `actions` counts tasks by their number of calls."""
    users: set[str] = set()
    products: set[str] = set()
    for task in tasks:
        task_subject = subject.subject_of(task, shop)
        users.update(task_subject.users[:1])
        products.update(_changed_products(task, shop))
    words = [frozenset(same_words(task.q).split()) for task in tasks]
    shares = [len(left & right) / len(left | right) for left, right in combinations(words, 2) if left | right]
    return Diversity(
        tasks=len(tasks),
        users=len(users),
        products=len(products),
        kinds=dict(Counter(kind_of(task) for task in tasks).most_common()),
        tools=dict(Counter(call.name for task in tasks for call in task.agt).most_common()),
        actions=dict(sorted(Counter(len(task.agt) for task in tasks).items())),
        likeness=round(sum(shares) / len(shares), 3) if shares else None,
    )


def kind_of(task: RetailTask) -> str:
    """The kind of the task."""
    kinds = {TOOL_KINDS[call.name] for call in task.writes}
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
