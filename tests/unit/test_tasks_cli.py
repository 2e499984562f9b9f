"""`parley tasks validate`, `correct` and `export` as commands."""

import json
from pathlib import Path
from typing import Any, Protocol

import pytest
from typer.testing import CliRunner, Result

from cli.main import app
from tests.support.store import STORE

ORDER_ID, ORDER = next((key, item) for key, item in STORE["orders"].items() if item["status"] == "pending")
EMAIL = STORE["users"][ORDER["user_id"]]["email"]
CALL: dict[str, Any] = {
    "name": "cancel_pending_order",
    "arguments": {"order_id": ORDER_ID, "reason": "no longer needed"},
}
GOOD: dict[str, Any] = {"q": f"Your e-mail is {EMAIL}. Cancel order {ORDER_ID}.", "agt": [CALL], "ogt": []}
REPAIRABLE: dict[str, Any] = GOOD | {
    "q": GOOD["q"] + " Please.",
    "agt": [CALL | {"kwargs": json.dumps(CALL["arguments"])}],
}
REPAIRABLE["agt"][0].pop("arguments")
INVALID: dict[str, Any] = GOOD | {"agt": [{"name": "sing", "arguments": {}}]}


class Parley(Protocol):
    """Runs `parley tasks` with these arguments."""

    def __call__(self, *words: str | Path) -> Result: ...


@pytest.fixture
def parley(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Parley:
    """Runs `parley tasks` in a new folder, and in this process because starting one is slow."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARLEY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *words: CliRunner().invoke(app, ["tasks", *map(str, words)], catch_exceptions=False)


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(f"{json.dumps(item)}\n" for item in (GOOD, REPAIRABLE, INVALID)))
    return path


def test_validate_says_what_is_wrong_with_each_task(parley: Parley, tasks: Path, tmp_path: Path) -> None:
    done = parley("validate", tasks)
    assert done.exit_code == 1
    assert "task 1: valid" in done.stdout
    assert "task 2: schema: agt.0.arguments" in done.stdout
    assert "task 3: tools: call 1, sing: no such tool" in done.stdout
    assert "1 of 3 tasks are valid." in done.stdout
    reports = json.loads(parley("validate", tasks, "--json").stdout)
    assert [item["valid"] for item in reports] == [True, False, False]
    assert "cannot be read" in parley("validate", tmp_path / "none").stderr
    assert "cannot be read as the store" in parley("validate", tasks, "--data", tmp_path).stderr


def test_correct_lists_its_corrections_and_rejects_what_it_cannot_correct(
    parley: Parley, tasks: Path, tmp_path: Path
) -> None:
    out = tmp_path / "right.json"
    done = parley("correct", tasks, "--out", out)
    assert done.exit_code == 1
    assert 'task 2: call 1, kwargs: another name for it: "kwargs" -> "arguments"' in done.stdout
    assert "task 2: call 1, arguments: a text read as an object" in done.stdout
    assert "task 3: rejected: call 1: there is no tool 'sing'" in done.stderr
    results = json.loads(out.read_text())
    assert [item["task"]["agt"] for item in results] == [[CALL], [CALL]]
    assert [len(item["corrections_applied"]["corrections"]) for item in results] == [0, 2]
    validated = parley("validate", out)  # tasks with the same calls are duplicates, even if their text differs
    assert "task 2: duplicates: the same calls as task 1" in validated.stdout


def test_correct_numbers_tasks_as_in_the_file(parley: Parley, tasks: Path, tmp_path: Path) -> None:
    """A rejected task does not shift the numbers of later ones."""
    tasks.write_text("".join(f"{json.dumps(item)}\n" for item in (INVALID, GOOD, GOOD)))
    done = parley("correct", tasks, "--out", tmp_path / "right.json")
    assert "task 2: valid" in done.stdout
    assert "task 3: duplicates: the same words as task 2; the same calls as task 2" in done.stdout


def test_export_writes_only_valid_tasks(parley: Parley, tasks: Path, tmp_path: Path) -> None:
    done = parley("export", tasks, "--out", tmp_path / "out", "--tau-bench", tmp_path)
    assert done.exit_code == 1
    assert "is no checkout of tau-bench" in done.stderr
    assert [item["user_id"] for item in json.loads((tmp_path / "out" / "tasks_parley.json").read_text())] == [
        ORDER["user_id"]
    ]


def test_without_arguments_the_help_is_printed_and_generate_needs_a_running_parley(
    parley: Parley, tmp_path: Path
) -> None:
    done = parley()
    assert done.exit_code == 2
    assert "generate" in done.stdout
    unreachable = parley("generate", "--url", "http://127.0.0.1:9")
    assert unreachable.exit_code == 1
    assert "No Parley answers at http://127.0.0.1:9" in unreachable.stderr
    assert list(tmp_path.iterdir()) == []
