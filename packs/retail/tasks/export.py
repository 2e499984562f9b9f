"""Exports tasks in tau-bench's format: a Python module with a list of Task objects, and JSON."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from packs.retail.tasks.replay import Shop, subject_of
from packs.retail.tasks.task import RetailTask

MODULE, JSON_FILE = "tasks_parley.py", "tasks_parley.json"
NAME = "TASKS_PARLEY"
_HEAD = f'''"""Test tasks for the retail environment, generated and validated by Parley."""

from tau_bench.types import Action, Task

{NAME} = [
'''
# Runs in a separate Python process. If the checkout's package needs missing dependencies, only its types are loaded.
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
print(json.dumps({"loaded": len(tasks), "kinds": kinds, "how": how}))
"""
_TRIAL_TIMEOUT = 120  # seconds


class Trial(NamedTuple):
    """The result of loading the tasks in a checkout. `problem` is "" if all became objects of its own class."""

    loaded: int
    how: str
    problem: str = ""


def as_tau_bench(task: RetailTask, shop: Shop) -> dict[str, Any]:
    """One task with tau-bench's keys."""
    users = subject_of(task, shop).users
    return {
        "annotator": "parley",
        "user_id": users[0] if users else "",
        "instruction": task.q,
        "actions": [{"name": call.name, "kwargs": dict(call.arguments)} for call in task.agt],
        "outputs": list(task.ogt),
    }


def write(tasks: Sequence[RetailTask], shop: Shop, folder: Path) -> tuple[Path, Path]:
    """Write both files, and return their paths. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    python, plain = folder / MODULE, folder / JSON_FILE
    forms = [as_tau_bench(task, shop) for task in tasks]
    python.write_text(f"{_HEAD}{''.join(map(_source, forms))}]\n", encoding="utf-8")
    plain.write_text(json.dumps(forms, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return python, plain


def try_in_tau_bench(python: Path, checkout: Path) -> Trial:
    """Load the module in a checkout of tau-bench."""
    if not (checkout / "tau_bench" / "types.py").is_file():
        return Trial(0, "", f"{checkout} is no checkout of tau-bench: it has no tau_bench/types.py")
    command = [sys.executable, "-c", _TRIAL, str(checkout.resolve()), str(python.resolve()), NAME]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=_TRIAL_TIMEOUT, check=False)  # noqa: S603
    except subprocess.TimeoutExpired:
        return Trial(0, "", f"it did not come to an end within {_TRIAL_TIMEOUT} s")
    if process.returncode:
        return Trial(0, "", process.stderr.strip()[-2000:] or f"it ended with exit code {process.returncode}")
    report = json.loads(process.stdout.splitlines()[-1])
    problem = "" if report["kinds"] in ([], ["tau_bench.types.Task"]) else f"they became {', '.join(report['kinds'])}"
    return Trial(report["loaded"], report["how"], problem)


def _source(task: dict[str, Any]) -> str:
    actions = "".join(
        f"            Action(name={action['name']!r}, kwargs={action['kwargs']!r}),\n" for action in task["actions"]
    )
    fields = {name: repr(value) for name, value in task.items()}
    fields["actions"] = f"[\n{actions}        ]" if actions else "[]"
    lines = "".join(f"        {name}={value},\n" for name, value in fields.items())
    return f"    Task(\n{lines}    ),\n"
