"""The template package is installed by pip into a separate environment, and used there."""

import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "examples" / "template"


@pytest.fixture
def python(tmp_path: Path) -> str:
    """The interpreter of a fresh environment, in which Parley and what it needs can be imported."""
    folder = tmp_path / "fresh"
    venv.create(folder, symlinks=True)
    paths = {"base": str(folder), "platbase": str(folder)}
    site_packages = Path(sysconfig.get_path("purelib", vars=paths))
    (site_packages / "parley-checkout.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n")
    return str(folder / "bin" / "python")


def run(*command: str) -> str:
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr[-3_000:]
    return outcome.stdout


def test_the_tools_and_plugins_of_an_installed_package_work(python: str, tmp_path: Path) -> None:
    pip = (sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "install", "--quiet")
    copy = tmp_path / "template"
    copy.mkdir()
    for path in TEMPLATE.rglob("*"):
        if path.suffix in (".toml", ".py", ".md"):
            (copy / path.relative_to(TEMPLATE)).parent.mkdir(exist_ok=True)
            (copy / path.relative_to(TEMPLATE)).write_bytes(path.read_bytes())
    run(*pip, "--no-index", "--no-deps", "--no-build-isolation", str(copy))
    output = json.loads(run(python, "-m", "tests.support.template_run", str(tmp_path)).splitlines()[-1])
    assert output == {
        "notes": {
            "nudge": True,
            "rules": True,
            "outcomes": [
                {"ok": True, "result": {"notes": []}},
                {"ok": True, "result": {"notes": ["Bring tea"]}, "confirmed": True},
            ],
            "verdicts": ["reads-answered", "change-shown"],
            "answer": "It is noted.",
        },
        "words": "3 words.",
        "plan": {
            "goal": "Add 2 notes",
            "effects": ["read", "write", "write"],
            "notes": {"notes": ["Bring tea", "Bring cups"]},
            "journal": ["read list_notes: done", "add1 add_note: done", "add2 add_note: done"],
        },
    }
