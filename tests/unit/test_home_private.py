"""Other accounts cannot read Parley's files; shared folders keep their own permissions."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cli.operate.home import HomeUnusable, lock_home

HOME_FILES = (
    "parley.db",
    "parley.db-wal",
    "parley.db-shm",
    "retail.db",
    "logs/planner.log",
    "nats/store/blk",
    "secrets/key",
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def home_of_an_earlier_version(home: Path) -> Path:
    """A home with the permissions that an earlier version set under a umask of 022."""
    for name in HOME_FILES:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.chmod(0o644)
    for folder in (home, *(path for path in home.rglob("*") if path.is_dir())):
        folder.chmod(0o755)
    return home


def open_to_others(home: Path) -> list[str]:
    return [str(path.relative_to(home)) for path in home.rglob("*") if mode(path) & 0o077]


def test_a_home_of_an_earlier_version_is_made_private_with_its_contents(tmp_path: Path) -> None:
    home = home_of_an_earlier_version(tmp_path / "home")
    with lock_home(home):
        assert mode(home) == 0o700
        assert open_to_others(home) == []


def test_in_a_shared_folder_only_parleys_files_are_made_private(tmp_path: Path) -> None:
    home = home_of_an_earlier_version(tmp_path / "home")
    other = home / "notes.txt"
    other.touch()
    other.chmod(0o644)
    with lock_home(home):
        assert mode(home) == 0o755
        assert open_to_others(home) == ["notes.txt"]


@pytest.mark.parametrize("bits", [0o777, 0o1777])
def test_a_world_writable_folder_is_refused_and_not_changed(tmp_path: Path, bits: int) -> None:
    (tmp_path / "other").touch()
    tmp_path.chmod(bits)
    with (
        pytest.raises(HomeUnusable, match="open to every account: set PARLEY_HOME to a folder of its own"),
        lock_home(tmp_path),
    ):
        pass
    assert mode(tmp_path) == bits
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    home, other = home_of_an_earlier_version(tmp_path / "home"), tmp_path / "elsewhere"
    other.mkdir(mode=0o755)
    (other / "file").touch()
    (home / "nats" / "linked").symlink_to(other)
    with lock_home(home):
        assert mode(other) == 0o755


@pytest.mark.parametrize("program", ["cli.main", "services.planner.app", "services.gateway.app"])
def test_files_that_a_program_creates_are_private(program: str, tmp_path: Path) -> None:
    """The test stops each program where its work would begin, and writes a file there."""
    writes = "open('written', 'w').close(); raise SystemExit"
    patched = {
        "cli.main": "import cli.main; cli.main.app = work",
        "services.planner.app": "import shared.worker.run as run; run.configure_logging = work",
        "services.gateway.app": "import services.gateway.app as app; app.configure_logging = work",
    }
    started = {
        "cli.main": "cli.main.main()",
        "services.planner.app": "import runpy; runpy.run_module('services.planner.app', run_name='__main__')",
        "services.gateway.app": "app.main()",
    }
    script = f"import os; os.umask(0o022)\ndef work(*_, **__):\n    {writes}\n{patched[program]}\n{started[program]}\n"
    root = str(Path(__file__).parents[2])
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=os.environ | {"PYTHONPATH": root}, check=True)
    assert mode(tmp_path / "written") == 0o600
