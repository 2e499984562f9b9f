"""Tasks as tau-bench keeps its own: a Python module with a list of Task objects, and the same as JSON."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from packs.retail.tasks import sense
from packs.retail.tasks.replay import Shop
from packs.retail.tasks.task import Task

MODULE, JSON_FILE = "tasks_parley.py", "tasks_parley.json"
NAME = "TASKS_PARLEY"
_HEAD = f'''"""Test tasks for the retail environment, generated and validated by Parley."""

from tau_bench.types import Action, Task

{NAME} = [
'''
# Runs in a Python of its own. A checkout's package may import what is not installed: then its types alone are used.
_TRIAL = """
import importlib.util, json, runpy, sys, types
from pathlib import Path
checkout, module = Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(checkout))
how = "tau_bench.types"
try:
    import tau_bench.types
except ImportError:
    how = "tau_bench/types.py alone"
    spec = importlib.util.spec_from_file_location("tau_bench.types", checkout / "tau_bench" / "types.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules["tau_bench"] = types.ModuleType("tau_bench")
    sys.modules["tau_bench.types"] = found
    spec.loader.exec_module(found)
tasks = runpy.run_path(module)[sys.argv[3]]
kinds = sorted({type(task).__module__ + "." + type(task).__name__ for task in tasks})
print(json.dumps({"loaded": len(tasks), "kinds": kinds, "how": how,
                  "actions": sum(len(task.actions) for task in tasks)}))
"""
_PATIENCE = 120  # seconds for the trial


class Trial(NamedTuple):
    """`loaded` of the tasks became objects of the checkout's own class; `trouble` says why not, "" if all did."""

    loaded: int
    how: str
    trouble: str = ""


def tau(task: Task, shop: Shop) -> dict[str, Any]:
    """One task by tau-bench's names."""
    users = sense.about(task, shop).users
    return {
        "annotator": "parley",
        "user_id": users[0] if users else "",
        "instruction": task.q,
        "actions": [{"name": call.name, "kwargs": dict(call.arguments)} for call in task.agt],
        "outputs": list(task.ogt),
    }


def module(tasks: Sequence[Task], shop: Shop) -> str:
    """The Python module's text."""
    return f"{_HEAD}{''.join(map(_source, (tau(task, shop) for task in tasks)))}]\n"


def write(tasks: Sequence[Task], shop: Shop, folder: Path) -> tuple[Path, Path]:
    """Both files. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    python, plain = folder / MODULE, folder / JSON_FILE
    python.write_text(module(tasks, shop), encoding="utf-8")
    plain.write_text(
        json.dumps([tau(task, shop) for task in tasks], indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return python, plain


def trial(python: Path, checkout: Path) -> Trial:
    """Let a checkout of tau-bench make its own objects of every task."""
    if not (checkout / "tau_bench" / "types.py").is_file():
        return Trial(0, "", f"{checkout} is no checkout of tau-bench: it has no tau_bench/types.py")
    command = [sys.executable, "-c", _TRIAL, str(checkout.resolve()), str(python.resolve()), NAME]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return Trial(0, "", f"it did not come to an end within {_PATIENCE} s")
    if done.returncode:
        return Trial(0, "", done.stderr.strip()[-2000:] or f"it ended with exit code {done.returncode}")
    told = json.loads(done.stdout.splitlines()[-1])
    trouble = "" if told["kinds"] in ([], ["tau_bench.types.Task"]) else f"they became {', '.join(told['kinds'])}"
    return Trial(told["loaded"], told["how"], trouble)


def _source(task: dict[str, Any]) -> str:
    actions = "".join(
        f"            Action(name={one['name']!r}, kwargs={one['kwargs']!r}),\n" for one in task["actions"]
    )
    fields = {name: repr(value) for name, value in task.items()}
    fields["actions"] = f"[\n{actions}        ]" if actions else "[]"
    lines = "".join(f"        {name}={value},\n" for name, value in fields.items())
    return f"    Task(\n{lines}    ),\n"
