"""`parley tools`: the table, JSON lines in and out, and the development tasks of tau-bench where its data exist."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.tools import drive
from packs.retail.generate import generate
from packs.retail.records import fingerprint
from tests.support.needs import TAU_BENCH, needs_tau_bench
from tests.support.retail import Shop, small
from tests.support.timeouts import WAIT_TIMEOUT

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "cli.main", "tools", "--world", "retail"]


def parley(*options: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [*COMMAND, *options]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=ROOT, timeout=WAIT_TIMEOUT, check=False)


def run_lines(*options: str, lines: list[bytes]) -> list[Any]:
    outcome = parley("--jsonl", *options, stdin=b"\n".join(lines))
    assert (outcome.returncode, outcome.stderr) == (0, b"")
    return [json.loads(line) for line in outcome.stdout.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for kind, documents in small().items():
        (tmp_path / f"{kind}.json").write_text(json.dumps(documents))
    return tmp_path


def request(tool: str, **arguments: Any) -> bytes:
    return json.dumps({"tool": tool, "arguments": arguments}).encode()


def test_calls_change_the_data_until_a_reset(folder: Path) -> None:
    cancel = {"order_id": "#W2", "reason": "no longer needed"}
    dump, reset = b'{"op": "dump"}', b'{"op": "reset"}'
    lines = [request("cancel_pending_order", **cancel), dump, reset, dump, b'{"tool": "list_all_product_types"}']
    shop = Shop()
    result = shop.call("cancel_pending_order", **cancel)
    first, changed, reset_answer, pristine, types = run_lines("--data", str(folder), lines=lines)
    assert (first, reset_answer) == ({"result": result}, {"ok": True})
    assert json.dumps(changed["data"]["orders"]) == json.dumps(shop.data["orders"])
    assert json.dumps(changed["data"]["users"]) == json.dumps(shop.data["users"])
    assert fingerprint(pristine["data"]) == fingerprint(small())
    assert types == {"result": '{"A Lamp": "20", "Cup": "10"}'}


def test_a_bad_line_gives_an_error_and_the_next_line_is_read() -> None:
    bad = [b"nope", b"", b"[]", b"5", b"\xff", b'{"op": "fly"}', b'{"tool": 1, "arguments": {}}', b"[" * 99_999]
    answers = run_lines(lines=[*bad, b'{"tool": "think", "arguments": []}', request("fly"), b'{"op": "dump"}'])
    assert [list(answer) for answer in answers[:-2]] == [["error"]] * 9
    assert answers[-2] == {"result": "Unknown action fly"}
    assert answers[-1]["data"] == generate(), "without --data it is the generated store"


def test_each_answer_is_written_before_the_next_line_is_read() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, "--jsonl"], stdin=pipe, stdout=pipe, cwd=ROOT) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for expression in ("1+1", "9**9**9", "2*2"):
            program.stdin.write(request("calculate", expression=expression) + b"\n")
            program.stdin.flush()
            assert "result" in json.loads(program.stdout.readline())
        program.stdin.close()
        assert program.wait(20) == 0


def test_without_options_the_tools_are_listed_as_a_table() -> None:
    table = parley().stdout.decode()
    assert "cancel_pending_order(order_id, reason)  write" in table
    assert table.count("\n    ") == 16


def test_a_missing_world_or_data_folder_is_an_error(tmp_path: Path) -> None:
    unknown = subprocess.run([*COMMAND[:-1], "mars"], capture_output=True, cwd=ROOT, timeout=WAIT_TIMEOUT, check=False)
    assert (unknown.returncode, b"no world mars" in unknown.stderr) == (2, True)
    missing = parley("--jsonl", "--data", str(tmp_path / "none"))
    assert (missing.returncode, b"users.json" in missing.stderr) == (2, True)


@pytest.mark.parametrize("broken", ["[]", "{", '{"a": 5}', '{"a": {}}'])
def test_data_of_another_format_are_an_error(folder: Path, broken: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "users.json").write_text(broken)
    assert drive(folder) == 2
    assert "cannot be used" in capsys.readouterr().err


@needs_tau_bench
@pytest.mark.parametrize(
    ("options", "summary"),
    [((), "20/20 tasks equal, 25/25 tool results equal"), (("--spawn", "--limit", "4"), "4/4 tasks equal")],
    ids=["one process", "a process for each task"],
)
def test_the_development_tasks_of_tau_bench_give_equal_results(options: tuple[str, ...], summary: str) -> None:
    command = " ".join([*COMMAND, "--data", str(TAU_BENCH), "--jsonl"])
    replay = [sys.executable, str(TAU_BENCH / "replay.py"), "--cmd", command, *options]
    outcome = subprocess.run(replay, capture_output=True, cwd=ROOT, timeout=140, check=False, text=True)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout.startswith(summary)
