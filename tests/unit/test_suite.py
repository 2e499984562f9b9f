"""Rules for the tests themselves."""

import re
import tomllib
from pathlib import Path

from tests.conftest import RACING, SHARING_A_CACHE, SHARING_A_PARLEY

ROOT = Path(__file__).resolve().parents[2]
GENERAL: int = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["timeout"]
OWN_CLIENT = "httpx2.AsyncClient" + "("


def test_files_with_a_marker_or_a_shared_parley_exist() -> None:
    racing = [f"tests/{folder}/test_{name}.py" for folder, names in RACING.items() for name in names]
    assert [
        file for file in (*sum((*SHARING_A_PARLEY, *SHARING_A_CACHE), ()), *racing) if not (ROOT / file).exists()
    ] == []


def test_http_clients_wait_as_long_as_tests_do() -> None:
    """A client of the library waits five seconds, which a busy machine exceeds."""
    assert [
        f"{path.relative_to(ROOT)}: call http_client of tests.support.http_client"
        for path in (ROOT / "tests").rglob("*.py")
        if path.name != "http_client.py" and OWN_CLIENT in path.read_text().replace(OWN_CLIENT + "transport=", "")
    ] == []


def test_no_test_is_ended_sooner_than_others() -> None:
    """The general timeout is for a test that hangs. A busy machine exceeds what was enough for a quiet one."""
    markers = {path: re.findall(r"mark\.timeout\((\d+)", path.read_text()) for path in (ROOT / "tests").rglob("*.py")}
    assert [path.name for path, seconds in markers.items() if any(int(number) <= GENERAL for number in seconds)] == []


def test_bounds_on_cpu_time_allow_for_a_busy_machine() -> None:
    """An idle wait may be bounded by itself: other programs do not add to its CPU time."""
    idle = {"test_bus.py", "test_trouble.py", "cpu_time.py"}
    assert [
        f"{path.relative_to(ROOT)}: call takes_at_most of tests.support.cpu_time"
        for path in (ROOT / "tests").rglob("*.py")
        if path.name not in idle and re.search(r"assert .*(?:process|thread)_time\(\) - ", path.read_text())
    ] == []
