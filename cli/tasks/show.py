"""What `parley tasks` tells at the end: how varied the tasks are, what they cost, and why candidates were rejected."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.chat.text import short
from cli.tasks.generator import TaskGenerator
from cli.tasks.stages import Result
from cli.visible import visible
from packs.retail.tasks.diversity import diversity
from packs.retail.tasks.task import Task

_SHOWN = 160  # characters of what was wrong


def summary(console: Console, generator: TaskGenerator, results: Sequence[Result], wanted: int, seconds: float) -> None:
    """The figures of a batch; `seconds` is how long it took altogether."""
    if results:
        found = diversity([Task.model_validate(result["task"]) for result in results], generator.shop)
        console.print(
            _pairs(
                "Diversity",
                {
                    "customers": found.users,
                    "products": found.products,
                    "kinds": _counts(found.kinds),
                    "tools": _counts(found.tools),
                    "tasks by calls": _counts(found.actions),
                    "likeness of words": "-"
                    if found.likeness is None
                    else f"{found.likeness:.2f} (0 none, 1 the same)",
                },
            )
        )
        console.print(
            _pairs(
                "Price",
                {
                    "seconds altogether": f"{seconds:.1f}",
                    "seconds a task": f"{_mean(results, 'seconds'):.1f} in its sessions",
                    "model calls a task": f"{_mean(results, 'model_calls'):.1f}",
                    "tokens a task": f"{_mean(results, 'tokens'):.0f}",
                },
            )
        )
    rejected = generator.rejections
    if rejected:
        table = Table("why", "candidates", "the first of them", title="Rejected", title_justify="left")
        for why, count in rejected.most_common():
            table.add_row(why, str(count), Text(short(generator.examples.get(why, ""), _SHOWN)))
        console.print(table)
    else:
        console.print(f"No candidate was rejected ({wanted} wanted).")


def one(console: Console, result: Result) -> None:
    """One task, or why there is none."""
    if not result["success"]:
        console.print(visible(f"No task: {result['error']}"), markup=False)
        return
    task, told = result["task"], result.get("agentflow_metadata", {})
    console.print(visible(task["q"]), markup=False)
    for call in task["agt"]:
        console.print(visible(f"  {call['name']} {call['arguments']}"), markup=False)
    if task["ogt"]:
        console.print(visible(f"  answers: {', '.join(task['ogt'])}"), markup=False)
    if told:
        console.print(f"  turns {told['turns']}, confidence {told['confidence']:.0%}", markup=False)


def compared(console: Console, found: Mapping[str, Any]) -> None:
    """Both ways side by side."""
    table = Table("", "direct", "loop", title="Direct and by the loop", title_justify="left")
    both: tuple[Result, Result] = (found["direct"], found["agentflow"])
    rows = {
        "made": ["yes" if one["success"] else f"no: {one['rejected']}" for one in both],
        "actions": [str(len(one["task"]["agt"])) if one["success"] else "-" for one in both],
        "answers": [str(len(one["task"]["ogt"])) if one["success"] else "-" for one in both],
        "corrections": [str(len(one["corrections_applied"]["corrections"])) if one["success"] else "-" for one in both],
        "turns": ["-", str(both[1].get("agentflow_metadata", {}).get("turns", "-"))],
        "confidence": ["-", str(both[1].get("agentflow_metadata", {}).get("confidence", "-"))],
        "model calls": [str(one["spent"]["model_calls"]) for one in both],
        "tokens": [str(one["spent"]["tokens"]) for one in both],
        "seconds": [f"{one['spent']['seconds']:.1f}" for one in both],
    }
    for name, (direct, loop) in rows.items():
        table.add_row(name, direct, loop)
    console.print(table)


def _pairs(title: str, rows: Mapping[str, object]) -> Table:
    table = Table(title=title, title_justify="left", show_header=False)
    for name, value in rows.items():
        table.add_row(name, str(value))
    return table


def _counts(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items()) or "none"


def _mean(results: Sequence[Result], figure: str) -> float:
    return float(sum(result["spent"][figure] for result in results)) / len(results)
