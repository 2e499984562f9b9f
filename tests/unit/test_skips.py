"""A test may be skipped only for a listed reason; otherwise the run fails."""

import subprocess
import sys
from pathlib import Path

from tests.support.needs import NO_LANDLOCK

ROOT = Path(__file__).parents[2]
SKIPPED = {
    "within": "import pytest\ndef test_it(): pytest.skip({reason!r})",
    "marked": "import pytest\n@pytest.mark.skip(reason={reason!r})\ndef test_it(): ...",
    "whole_module": "import pytest\npytest.skip({reason!r}, allow_module_level=True)",
    "expected_to_fail": "import pytest\ndef test_it(): pytest.xfail({reason!r})",
}


def test_a_skip_for_any_other_reason_fails_the_run(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p tests.support.needs\n")
    for how, text in SKIPPED.items():
        (tmp_path / f"test_{how}_allowed.py").write_text(text.format(reason=NO_LANDLOCK))
        (tmp_path / f"test_{how}_forbidden.py").write_text(text.format(reason="not today"))
    options = ("-p", "no:cacheprovider", "-c", str(tmp_path / "pytest.ini"), "--continue-on-collection-errors", "-q")
    command = (sys.executable, "-m", "pytest", *options, str(tmp_path))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    # No reason allows an expected failure. What ends before a test is called is an error to pytest.
    assert "3 failed, 3 skipped, 2 errors" in done.stdout
    assert "No test may be skipped for this" in done.stdout
