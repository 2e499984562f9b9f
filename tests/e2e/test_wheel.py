"""The wheel in an environment of its own, which sees what it depends on, and nothing else of what is installed here."""

import asyncio
import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from cli.main import app
from cli.ports import free_port
from parley.terminal import NEED_CHECKOUT
from tests.e2e.running import ROOT, Parley

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel, its virtual environment, and links to what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run([sys.executable, *wheel], cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    pip = ["-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet", str(built)]
    subprocess.run([sys.executable, *pip], check=True, capture_output=True)
    (site(folder) / "dependencies.pth").write_text(str(folder / "dependencies"))
    (folder / "dependencies").mkdir()
    for line in metadata.Distribution.at(next(site(folder).glob("*.dist-info"))).requires or ():
        depend(Requirement(line), folder / "dependencies")
    return folder


def depend(wanted: Requirement, folder: Path) -> None:
    """Link what this requirement needs into the folder, with all that it needs itself."""
    found = metadata.distribution(wanted.name)
    mark = folder / f"{found.name}[{','.join(sorted(wanted.extras))}]"
    if mark.exists():
        return
    mark.touch()
    for top in {path.parts[0] for path in found.files or ()} - {"..", "__pycache__"}:
        if not (folder / top).exists():
            (folder / top).symlink_to(Path(str(found.locate_file(top))))
    for line in found.requires or ():
        one = Requirement(line)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in (*wanted.extras, "")):
            depend(one, folder)


def site(folder: Path) -> Path:
    (found,) = (folder / "venv" / "lib").glob("python*/site-packages")
    return found


async def run(installed: Path, *words: str, home: Path, **environment: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the installed command, elsewhere than in the checkout."""
    process = await asyncio.create_subprocess_exec(
        installed / "venv" / "bin" / "parley", *words,
        cwd=installed, env={"PATH": os.environ["PATH"], "PARLEY_HOME": str(home), **environment},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = await process.communicate(b"")
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, out.decode(), err.decode()


def test_it_installs_one_package(installed: Path) -> None:
    names = {path.name for path in site(installed).iterdir()} - {"dependencies.pth", "__pycache__"}
    assert {name for name in names if not name.endswith(".dist-info")} == {"parley"}


async def test_what_needs_a_checkout_says_so(installed: Path, tmp_path: Path) -> None:
    for command in NEED_CHECKOUT:
        code, _, err = await run(installed, command, home=tmp_path)
        assert (code, f"`parley {command}` needs a checkout" in err) == (1, True), err


async def test_everything_else_has_what_it_imports(installed: Path, tmp_path: Path) -> None:
    """It is run where nothing answers, and says so in words."""
    names = {one.name or one.callback.__name__ for one in app.registered_commands if one.callback}
    given = {"chat": ("hello",), "publish": ("--text", "x"), "backup": ("copy",), "restore": ("copy",)}
    commands = sorted(names - {*NEED_CHECKOUT})
    nowhere = {"NATS_URL": f"nats://127.0.0.1:{free_port()}", "AGENT_PORT": str(free_port())}
    ends = await asyncio.gather(
        *(run(installed, one, *given.get(one, ()), home=tmp_path, **nowhere) for one in commands)
    )
    assert len(commands) == 10
    assert {one: err for one, (code, _, err) in zip(commands, ends, strict=True) if code == 2 or "Error" in err} == {}


async def test_a_person_talks_to_a_running_parley(installed: Path, running: Parley) -> None:
    code, out, _ = await run(installed, "--help", home=running.home)
    assert (code, "chat" in out) == (0, True)
    code, out, err = await run(installed, "chat", "--yes", "Help me create a simple calculator", home=running.home)
    assert code == 0, err
    assert "def " in out
    code, out, err = await run(installed, "publish", "--text", "Write FizzBuzz", home=running.home)
    assert code == 0, err
    code, out, err = await run(installed, "tail", out.strip(), "--no-follow", home=running.home)
    assert (code, "message.received" in out) == (0, True), err
