"""How varied a batch is, in figures."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from packs.retail.tasks import sense
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import Part, Task, same_words

TOOL_KINDS = {
    "cancel_pending_order": "cancel",
    "return_delivered_order_items": "return",
    "exchange_delivered_order_items": "exchange",
    "modify_pending_order_items": "modify_items",
    "modify_pending_order_payment": "modify_payment",
    "modify_pending_order_address": "modify_address",
    "modify_user_address": "change_profile_address",
}


class Diversity(Part):
    """`likeness`: mean share of common words of two instructions, 0 (none) to 1 (the same); None below two tasks."""

    tasks: int
    users: int
    products: int
    kinds: dict[str, int]
    tools: dict[str, int]
    actions: dict[int, int]
    likeness: float | None

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def diversity(tasks: Sequence[Task], shop: Shop) -> Diversity:
    """The figures; `actions` counts tasks by their number of calls."""
    users: set[str] = set()
    products: set[str] = set()
    for task in tasks:
        found = sense.about(task, shop)
        users.update(found.users[:1])
        products.update(_touched(task, shop))
    words = [frozenset(same_words(task.q).split()) for task in tasks]
    shares = [len(one & other) / len(one | other) for one, other in combinations(words, 2) if one | other]
    return Diversity(
        tasks=len(tasks),
        users=len(users),
        products=len(products),
        kinds=dict(Counter(kind_of(task) for task in tasks).most_common()),
        tools=dict(Counter(call.name for task in tasks for call in task.agt).most_common()),
        actions=dict(sorted(Counter(len(task.agt) for task in tasks).items())),
        likeness=round(sum(shares) / len(shares), 3) if shares else None,
    )


def kind_of(task: Task) -> str:
    """What is wanted, as a word."""
    kinds = {TOOL_KINDS[call.name] for call in task.writes}
    return kinds.pop() if len(kinds) == 1 and not task.ogt else "several" if kinds else "lookup"


def _touched(task: Task, shop: Shop) -> set[str]:
    """The products that the writes are about."""
    found: set[str] = set()
    for call in task.writes:
        order = shop.data["orders"].get(str(call.arguments.get("order_id")), {"items": []})
        items = call.arguments.get("item_ids")
        chosen = items if isinstance(items, list) else [item["item_id"] for item in order["items"]]
        found |= {item["product_id"] for item in order["items"] if item["item_id"] in chosen}
    return found
