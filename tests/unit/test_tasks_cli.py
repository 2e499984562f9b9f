"""`parley tasks validate`, `correct` and `export`, as a person runs them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retail.generate import generate
from tests.e2e.running import ROOT

ORDER_ID, ORDER = next((key, one) for key, one in generate()["orders"].items() if one["status"] == "pending")
EMAIL = generate()["users"][ORDER["user_id"]]["email"]
CALL: dict[str, Any] = {
    "name": "cancel_pending_order",
    "arguments": {"order_id": ORDER_ID, "reason": "no longer needed"},
}
GOOD: dict[str, Any] = {"q": f"Your e-mail is {EMAIL}. Cancel order {ORDER_ID}.", "agt": [CALL], "ogt": []}
BENT: dict[str, Any] = GOOD | {"q": GOOD["q"] + " Please.", "agt": [CALL | {"kwargs": json.dumps(CALL["arguments"])}]}
BENT["agt"][0].pop("arguments")
HOPELESS: dict[str, Any] = GOOD | {"agt": [{"name": "sing", "arguments": {}}]}


def parley(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cli.main", "tasks", *map(str, words)]
    environment = {"PYTHONPATH": str(ROOT), "PARLEY_HOME": str(cwd / "home"), "PATH": "/usr/bin:/bin", "COLUMNS": "200"}
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in (GOOD, BENT, HOPELESS)))
    return path


@pytest.mark.timeout(120)
def test_validate_says_what_is_wrong_with_each(tasks: Path, tmp_path: Path) -> None:
    done = parley("validate", tasks, cwd=tmp_path)
    assert done.returncode == 1
    assert "task 1: valid" in done.stdout
    assert "task 2: schema: agt.0.arguments" in done.stdout
    assert "task 3: tools: call 1, sing: no such tool" in done.stdout
    assert "1 of 3 tasks are valid." in done.stdout
    told = json.loads(parley("validate", tasks, "--json", cwd=tmp_path).stdout)
    assert [one["valid"] for one in told] == [True, False, False]
    assert "cannot be read" in parley("validate", tmp_path / "none", cwd=tmp_path).stderr
    assert "cannot be read as the store" in parley("validate", tasks, "--data", tmp_path, cwd=tmp_path).stderr


def test_correct_lists_its_corrections_and_rejects_the_rest(tasks: Path, tmp_path: Path) -> None:
    out = tmp_path / "right.json"
    done = parley("correct", tasks, "--out", out, cwd=tmp_path)
    assert done.returncode == 1
    assert 'task 2: call 1, kwargs: another name for it: "kwargs" -> "arguments"' in done.stdout
    assert "task 2: call 1, arguments: a text read as an object" in done.stdout
    assert "task 3: rejected: call 1: there is no tool 'sing'" in done.stderr
    results = json.loads(out.read_text())
    assert [one["task"]["agt"] for one in results] == [[CALL], [CALL]]
    assert [len(one["corrections_applied"]["corrections"]) for one in results] == [0, 2]
    again = parley("validate", out, cwd=tmp_path)  # the same call in other words is a duplicate
    assert "task 2: duplicates: the same calls as task 1" in again.stdout


def test_correct_counts_tasks_as_the_file_does(tasks: Path, tmp_path: Path) -> None:
    """A task that is rejected does not shift the numbers of those that come after it."""
    tasks.write_text("".join(f"{json.dumps(one)}\n" for one in (HOPELESS, GOOD, GOOD)))
    done = parley("correct", tasks, "--out", tmp_path / "right.json", cwd=tmp_path)
    assert "task 2: valid" in done.stdout
    assert "task 3: duplicates: the same words as task 2; the same calls as task 2" in done.stdout


def test_export_writes_what_is_valid(tasks: Path, tmp_path: Path) -> None:
    done = parley("export", tasks, "--out", tmp_path / "out", "--tau-bench", tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    assert "is no checkout of tau-bench" in done.stderr
    assert [one["user_id"] for one in json.loads((tmp_path / "out" / "tasks_parley.json").read_text())] == [
        ORDER["user_id"]
    ]


def test_without_a_terminal_it_says_what_there_is(tmp_path: Path) -> None:
    done = parley(cwd=tmp_path)
    assert done.returncode == 2
    assert "generate" in done.stdout
    away = parley("generate", "--url", "http://127.0.0.1:9", cwd=tmp_path)
    assert away.returncode == 1
    assert "No Parley answers at http://127.0.0.1:9" in away.stderr
    assert list(tmp_path.iterdir()) == []
