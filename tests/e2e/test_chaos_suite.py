"""A short run of the chaos suite: 85 seconds of faults on one nats-server, with all invariants checked.

`make chaos SECONDS=300 SEED=8 CLUSTER=1` runs the same for longer on a cluster.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.invariants import INVARIANTS

ROOT = Path(__file__).parents[2]
SECONDS, SEED, AT_ONCE = 85, 2, 8  # few concurrent sessions: other tests use the machine, too
SUITE_TIMEOUT = 600  # seconds, on a busy machine

pytestmark = [pytest.mark.long, pytest.mark.timeout(SUITE_TIMEOUT + 30)]


def test_a_short_chaos_run_holds_all_invariants(tmp_path: Path) -> None:
    options = ("--seconds", str(SECONDS), "--seed", str(SEED), "--at-once", str(AT_ONCE), "--folder", str(tmp_path))
    command = (sys.executable, "-m", "chaos", *options)
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SUITE_TIMEOUT, check=False)
    output = f"{result.stdout}\n{result.stderr}"
    assert result.returncode == 0, output
    assert f"all invariants hold; to repeat: python -m chaos --seconds {SECONDS} --seed {SEED}" in result.stdout
    checked = dict(re.findall(r"^(I\d+) .* (\d+) checked  holds", result.stdout, re.MULTILINE))
    assert set(checked) == {name for name, *_ in INVARIANTS}, output
    assert all(int(count) > 0 for count in checked.values()), output
    assert "faults: 0" not in result.stdout
    assert list(tmp_path.iterdir()) == [], "the suite must keep evidence only for failures"
