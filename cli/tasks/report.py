"""The final report of `parley tasks`: how varied the tasks are, what they cost, and why candidates were rejected."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.tasks.candidate import TaskResult
from cli.tasks.generator import TaskGenerator
from cli.text import short, visible
from packs.retail.tasks.intents import KIND_OF_TOOL
from packs.retail.tasks.replay import Shop, subject_of
from packs.retail.tasks.task import RetailTask, words_of

MAX_DETAIL = 160  # characters of an error


def print_summary(
    console: Console, generator: TaskGenerator, results: Sequence[TaskResult], requested: int, seconds: float
) -> None:
    """Print the statistics of a batch; `seconds` is its total duration."""
    if results:
        tasks = [RetailTask.model_validate(result["task"]) for result in results]
        diversity = measure_diversity(tasks, generator.shop)
        likeness = "-" if diversity.likeness is None else f"{diversity.likeness:.2f} (0 none, 1 the same)"
        varied = {
            "customers": diversity.users,
            "products": diversity.products,
            "kinds": _counts(diversity.kinds),
            "tools": _counts(diversity.tools),
            "tasks by calls": _counts(diversity.actions),
            "likeness of words": likeness,
        }
        price = {
            "seconds altogether": f"{seconds:.1f}",
            "seconds a task": f"{_mean(results, 'seconds'):.1f} in its sessions",
            "model calls a task": f"{_mean(results, 'model_calls'):.1f}",
            "tokens a task": f"{_mean(results, 'tokens'):.0f}",
        }
        for title, rows in (("Diversity", varied), ("Price", price)):
            table = Table(title=title, title_justify="left", show_header=False)
            for name, value in rows.items():
                table.add_row(name, str(value))
            console.print(table)
    rejected = generator.rejections
    if rejected:
        table = Table("why", "candidates", "the first of them", title="Rejected", title_justify="left")
        for why, count in rejected.most_common():
            table.add_row(why, str(count), Text(short(generator.examples.get(why, ""), MAX_DETAIL)))
        console.print(table)
    else:
        console.print(f"No candidate was rejected ({requested} wanted).")


def print_result(console: Console, result: TaskResult) -> None:
    """Print one task, or why there is none."""
    if not result["success"]:
        console.print(visible(f"No task: {result['error']}"), markup=False)
        return
    task, metadata = result["task"], result.get("agentflow_metadata", {})
    console.print(visible(task["q"]), markup=False)
    for call in task["agt"]:
        console.print(visible(f"  {call['name']} {call['arguments']}"), markup=False)
    if task["ogt"]:
        console.print(visible(f"  answers: {', '.join(task['ogt'])}"), markup=False)
    if metadata:
        console.print(f"  turns {metadata['turns']}, confidence {metadata['confidence']:.0%}", markup=False)


def print_comparison(console: Console, comparison: Mapping[str, Any]) -> None:
    """Print both results side by side."""
    table = Table("", "direct", "loop", title="Direct and by the loop", title_justify="left")
    both: tuple[TaskResult, TaskResult] = (comparison["direct"], comparison["agentflow"])
    rows = {
        "made": ["yes" if result["success"] else f"no: {result['rejected']}" for result in both],
        "actions": [str(len(result["task"]["agt"])) if result["success"] else "-" for result in both],
        "answers": [str(len(result["task"]["ogt"])) if result["success"] else "-" for result in both],
        "corrections": [
            str(len(result["corrections_applied"]["corrections"])) if result["success"] else "-" for result in both
        ],
        "turns": ["-", str(both[1].get("agentflow_metadata", {}).get("turns", "-"))],
        "confidence": ["-", str(both[1].get("agentflow_metadata", {}).get("confidence", "-"))],
        "model calls": [str(result["spent"]["model_calls"]) for result in both],
        "tokens": [str(result["spent"]["tokens"]) for result in both],
        "seconds": [f"{result['spent']['seconds']:.1f}" for result in both],
    }
    for name, (direct, loop) in rows.items():
        table.add_row(name, direct, loop)
    console.print(table)


def _counts(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items()) or "none"


def _mean(results: Sequence[TaskResult], figure: str) -> float:
    return float(sum(result["spent"][figure] for result in results)) / len(results)


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
