"""docker-compose.yml under a project name of its own: what `scripts/try-containers` does to it, and asks about it."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from cli.ports import free_port
from shared.environment import child_environment

ROOT = Path(__file__).resolve().parent.parent
COMPOSE = ROOT / "docker-compose.yml"
PROJECT = "parley-trial"
IMAGE = "parley:trial"
PATIENCE = 180.0  # seconds until everything that starts is healthy
type Json = dict[str, Any]


class Failed(Exception):
    """Something is not as it must be; the message says what."""


def must(fine: object, what: str) -> None:
    """Raises Failed."""
    if not fine:
        raise Failed(what)


class Container(NamedTuple):
    """One container as `docker inspect` describes it."""

    service: str
    name: str
    told: Json

    @property
    def running(self) -> bool:
        return bool(self.told["State"]["Running"])

    @property
    def trouble(self) -> str:
        """What is not (yet) as it should be; "" for a container that is healthy, or ended well."""
        state = self.told["State"]
        if state["Restarting"] or (not state["Running"] and state["ExitCode"]):
            return f"{self.name} ended with {state['ExitCode']}"
        health = state.get("Health", {}).get("Status", "healthy") if state["Running"] else "healthy"
        return "" if health == "healthy" else f"{self.name} is {health}"


class Stack:
    """The containers of this project; every method blocks."""

    def __init__(self) -> None:
        self.port = free_port()
        # What a developer's shell or .env has set is not what is tried, and no model of theirs is asked.
        unset = dict.fromkeys(re.findall(r"\$\{(\w+):-", COMPOSE.read_text(encoding="utf-8")), "")
        mine = {"COMPOSE_PROJECT_NAME": PROJECT, "PARLEY_IMAGE": IMAGE, "AGENT_PORT": str(self.port)}
        self._environment = child_environment(**unset | mine)
        new = self._run("docker", "compose", "version", check=False).returncode == 0
        self._composed = (*(("docker", "compose") if new else ("docker-compose",)), "-f", str(COMPOSE))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def compose(self, *words: str) -> str:
        """Raises Failed, with what was written last."""
        return self._run(*self._composed, *words).stdout

    def docker(self, *words: str) -> str:
        """Raises Failed, with what was written last."""
        return self._run("docker", *words).stdout

    def ends(self, *words: str, of: str = "compose") -> tuple[int, str]:
        """The exit code of a command of compose (or of docker), and what it wrote."""
        done = self._run(*(("docker",) if of == "docker" else self._composed), *words, check=False)
        return done.returncode, done.stderr + done.stdout

    def works(self, container: str, script: str) -> bool:
        """Whether this shell script ends well inside a container."""
        return self._run("docker", "exec", container, "sh", "-c", script, check=False).returncode == 0

    def inside(self, container: str, *words: str) -> str:
        return self.docker("exec", container, *words)

    def containers(self, service: str = "") -> list[Container]:
        """All of the project, running or not; or those of one service."""
        ids = self.docker("ps", "-aq", "--filter", f"label=com.docker.compose.project={PROJECT}").split()
        found = json.loads(self.docker("inspect", *ids)) if ids else []
        named = [
            Container(one["Config"]["Labels"]["com.docker.compose.service"], one["Name"][1:], one) for one in found
        ]
        return sorted(one for one in named if service in ("", one.service))

    def one(self, service: str) -> Container:
        """The first of them."""
        return self.containers(service)[0]

    def logs(self) -> Iterator[tuple[Container, str]]:
        """What each wrote, to stdout and stderr."""
        for container in self.containers():
            done = self._run("docker", "logs", container.name)
            yield container, done.stdout + done.stderr

    def healthy(self, **replicas: int) -> None:
        """Wait until every container is healthy or ended well, with so many of these services. Raises Failed."""
        deadline = time.monotonic() + PATIENCE
        while True:
            here = self.containers()
            sick = [one.trouble for one in here if one.trouble]
            fewer = [name for name, wanted in replicas.items() if sum(one.service == name for one in here) != wanted]
            if not sick and not fewer:
                return
            must(time.monotonic() < deadline, f"not healthy after {PATIENCE:.0f} s: {', '.join(sick + fewer)}")
            time.sleep(0.5)

    def token(self) -> str:
        """What the operator is told to ask for."""
        told = self.compose("exec", "-T", "gateway", "parley", "url").strip()
        found = re.fullmatch(re.escape(self.url) + r"\?token=(\S+)", told)
        must(found, f"`parley url` in the gateway said {told!r}")
        return found[1] if found else ""

    def secrets(self) -> set[str]:
        """Every password there is, read as nobody in the project can: as root, from the volume."""
        mounts = self.one("gateway").told["Mounts"]
        (volume,) = [one["Name"] for one in mounts if one["Destination"] == "/run/parley"]
        read = "for one in /run/parley/secrets/*; do cat $one; echo; done"
        with_root = ("run", "--rm", "--user", "0", "--network", "none", "-v", f"{volume}:/run/parley:ro")
        return set(self.docker(*with_root, IMAGE, "sh", "-c", read).split())

    @contextmanager
    def gone_at_the_end(self) -> Iterator[None]:
        """Nothing of an earlier trial is there at first, and nothing of this one at the end."""
        self._down()
        try:
            yield
        except Failed as failed:
            sys.stderr.write(f"{self.compose('logs', '--tail', '40')}\n{failed}\n")
            raise
        finally:
            self._down()
        volumes = self.docker("volume", "ls", "-q", "--filter", f"label=com.docker.compose.project={PROJECT}").split()
        must(not self.containers() and not volumes, f"something is left: {volumes or self.containers()}")

    def _down(self) -> None:
        """Its result does not count: what is left is looked for, and an engine may hold on to a network for a while."""
        self._run(*self._composed, "down", "--volumes", "--remove-orphans", check=False)
        self._run("docker", "rmi", IMAGE, check=False)

    def _run(self, *words: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(  # noqa: S603
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=self._environment,
            cwd=ROOT,
            check=False,
        )
        if check and done.returncode:
            last = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
            raise Failed(f"`{' '.join(words)}` ended with {done.returncode}:\n{last}")
        return done
