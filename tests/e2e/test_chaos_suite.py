"""The chaos suite itself, in the small: a minute and a half of faults on one nats-server, and nothing is broken.

`make chaos SECONDS=300 SEED=8 CLUSTER=1` is the same for longer, elsewhere.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECONDS, SEED, AT_ONCE = 85, 2, 8  # few sessions at a time: the other tests want the machine, too
PATIENCE = 600  # seconds, on a machine that does much else

pytestmark = [pytest.mark.long, pytest.mark.timeout(PATIENCE + 30)]


def test_nothing_is_broken(tmp_path: Path) -> None:
    wanted = ("--seconds", str(SECONDS), "--seed", str(SEED), "--at-once", str(AT_ONCE), "--folder", str(tmp_path))
    command = (sys.executable, "-m", "chaos", *wanted)
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    told = f"{ended.stdout}\n{ended.stderr}"
    assert ended.returncode == 0, told
    assert f"nothing was broken; once more: python -m chaos --seconds {SECONDS} --seed {SEED}" in ended.stdout
    checked = dict(re.findall(r"^(I\d+) .* (\d+) checked  holds", ended.stdout, re.MULTILINE))
    assert set(checked) == {f"I{number}" for number in range(1, 11)}, told
    assert all(int(count) > 0 for count in checked.values()), told
    assert "faults: 0" not in ended.stdout
    assert list(tmp_path.iterdir()) == [], "where nothing was broken, nothing is kept"
