"""The wheel, installed into a virtual environment with nothing but its dependencies."""

import asyncio
import json
import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from cli.main import app
from cli.operate.ports import free_port
from parley.terminal import NEED_CHECKOUT
from tests.e2e.parley_process import ROOT, RunningParley


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel, its virtual environment, and links to its dependencies."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run([sys.executable, *wheel], cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    pip = ["-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet", str(built)]
    subprocess.run([sys.executable, *pip], check=True, capture_output=True)
    (site_packages(folder) / "dependencies.pth").write_text(str(folder / "dependencies"))
    (folder / "dependencies").mkdir()
    for line in metadata.Distribution.at(next(site_packages(folder).glob("*.dist-info"))).requires or ():
        link_dependencies(Requirement(line), folder / "dependencies")
    return folder


def link_dependencies(requirement: Requirement, folder: Path) -> None:
    """Link a requirement and its own dependencies into the folder."""
    distribution = metadata.distribution(requirement.name)
    mark = folder / f"{distribution.name}[{','.join(sorted(requirement.extras))}]"
    if mark.exists():
        return
    mark.touch()
    for top in {path.parts[0] for path in distribution.files or ()} - {"..", "__pycache__"}:
        if not (folder / top).exists():
            (folder / top).symlink_to(Path(str(distribution.locate_file(top))))
    for line in distribution.requires or ():
        dependency = Requirement(line)
        if dependency.marker is None or any(
            dependency.marker.evaluate({"extra": extra}) for extra in (*requirement.extras, "")
        ):
            link_dependencies(dependency, folder)


def site_packages(folder: Path) -> Path:
    (path,) = (folder / "venv" / "lib").glob("python*/site-packages")
    return path


async def run(
    installed: Path, *words: str, home: Path, program: str = "parley", **environment: str
) -> tuple[int, str, str]:
    """Run the installed command outside the checkout. Returns exit code, stdout and stderr."""
    process = await asyncio.create_subprocess_exec(
        installed / "venv" / "bin" / program, *words,
        cwd=installed, env={"PATH": os.environ["PATH"], "PARLEY_HOME": str(home), **environment},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, err = await process.communicate(b"")
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, out.decode(), err.decode()


def test_the_wheel_installs_one_package(installed: Path) -> None:
    names = {path.name for path in site_packages(installed).iterdir()} - {"dependencies.pth", "__pycache__"}
    assert {name for name in names if not name.endswith(".dist-info")} == {"parley"}


async def test_commands_that_need_a_checkout_say_so(installed: Path, tmp_path: Path) -> None:
    results = await asyncio.gather(*(run(installed, command, home=tmp_path) for command in NEED_CHECKOUT))
    for command, (code, _, err) in zip(NEED_CHECKOUT, results, strict=True):
        assert (code, f"`parley {command}` needs a checkout" in err) == (1, True), err


# Runs commands of the installed package one after the other: their imports take longer than what they do.
RUN_COMMANDS = """
import json, sys
from parley.terminal import BUNDLED
sys.path.insert(0, str(BUNDLED))
from typer.testing import CliRunner
from cli.main import app
results = [CliRunner().invoke(app, words) for words in json.loads(sys.argv[1])]
print(json.dumps([[result.exit_code, repr(result.exception), result.output] for result in results]))
"""


async def test_all_other_commands_can_be_imported(installed: Path, tmp_path: Path) -> None:
    """Without a server, each command fails with a message, not with a traceback or a usage error."""
    names = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    arguments = {"chat": ("hello",), "publish": ("--text", "x"), "backup": ("copy",), "restore": ("copy",)}
    commands = sorted(names - {*NEED_CHECKOUT})
    words = json.dumps([[command, *arguments.get(command, ())] for command in commands])
    unused_ports = {"NATS_URL": f"nats://127.0.0.1:{free_port()}", "AGENT_PORT": str(free_port())}
    code, out, err = await run(installed, "-c", RUN_COMMANDS, words, program="python", home=tmp_path, **unused_ports)
    assert code == 0, err
    assert len(commands) == 10
    assert {
        command: (error, output)
        for command, (exit_code, error, output) in zip(commands, json.loads(out.splitlines()[-1]), strict=True)
        if exit_code == 2 or not (error == "None" or error.startswith("SystemExit"))
    } == {}


async def test_chat_works_with_a_running_parley(installed: Path, running: RunningParley) -> None:
    code, out, _ = await run(installed, "--help", home=running.home)
    assert (code, "chat" in out) == (0, True)
    code, out, err = await run(installed, "chat", "--yes", "Help me create a simple calculator", home=running.home)
    assert code == 0, err
    assert "def " in out
    code, out, err = await run(installed, "publish", "--text", "Write FizzBuzz", home=running.home)
    assert code == 0, err
    code, out, err = await run(installed, "tail", out.strip(), "--no-follow", home=running.home)
    assert (code, "message.received" in out) == (0, True), err
