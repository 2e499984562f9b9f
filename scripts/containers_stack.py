"""The stack of docker-compose.yml under its own project name, as `scripts/try-containers` controls it."""

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
START_TIMEOUT = 180.0  # seconds until all containers are healthy
type Json = dict[str, Any]


class CheckFailed(Exception):
    """A check failed. The message says which."""


def require(condition: object, message: str) -> None:
    """Raises CheckFailed unless the condition holds."""
    if not condition:
        raise CheckFailed(message)


class Container(NamedTuple):
    """One container as `docker inspect` describes it."""

    service: str
    name: str
    details: Json

    @property
    def is_running(self) -> bool:
        return bool(self.details["State"]["Running"])

    @property
    def problem(self) -> str:
        """What is wrong with it; "" if it is healthy or exited with code 0."""
        state = self.details["State"]
        if state["Restarting"] or (not state["Running"] and state["ExitCode"]):
            return f"{self.name} ended with {state['ExitCode']}"
        health = state.get("Health", {}).get("Status", "healthy") if state["Running"] else "healthy"
        return "" if health == "healthy" else f"{self.name} is {health}"


class Stack:
    """The containers of the project. Every method blocks."""

    def __init__(self) -> None:
        self.port = free_port()
        # Ignore what the developer's shell or .env sets, so that no real model is called.
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

    def run_unchecked(self, *words: str, of: str = "compose") -> tuple[int, str]:
        """The exit code and output of a command of compose or docker."""
        done = self._run(*(("docker",) if of == "docker" else self._composed), *words, check=False)
        return done.returncode, done.stderr + done.stdout

    def succeeds(self, container: str, script: str) -> bool:
        """Whether this shell script exits with code 0 inside a container."""
        return self._run("docker", "exec", container, "sh", "-c", script, check=False).returncode == 0

    def execute(self, container: str, *words: str) -> str:
        return self.docker("exec", container, *words)

    def containers(self, service: str = "") -> list[Container]:
        """All containers of the project or of one service, running or not."""
        ids = self.docker("ps", "-aq", "--filter", f"label=com.docker.compose.project={PROJECT}").split()
        inspected = json.loads(self.docker("inspect", *ids)) if ids else []
        named = [
            Container(container["Config"]["Labels"]["com.docker.compose.service"], container["Name"][1:], container)
            for container in inspected
        ]
        return sorted(container for container in named if service in ("", container.service))

    def container_of(self, service: str) -> Container:
        """The service's first container."""
        return self.containers(service)[0]

    def logs(self) -> Iterator[tuple[Container, str]]:
        """The stdout and stderr of each container."""
        for container in self.containers():
            done = self._run("docker", "logs", container.name)
            yield container, done.stdout + done.stderr

    def wait_until_healthy(self, **replicas: int) -> None:
        """Wait until every container is healthy or exited with code 0, with these replicas. Raises CheckFailed."""
        deadline = time.monotonic() + START_TIMEOUT
        while True:
            containers = self.containers()
            problems = [container.problem for container in containers if container.problem]
            fewer = [
                name
                for name, count in replicas.items()
                if sum(container.service == name for container in containers) != count
            ]
            if not problems and not fewer:
                return
            require(
                time.monotonic() < deadline, f"not healthy after {START_TIMEOUT:.0f} s: {', '.join(problems + fewer)}"
            )
            time.sleep(0.5)

    def token(self) -> str:
        """The login token, from `parley url` in the gateway."""
        output = self.compose("exec", "-T", "gateway", "parley", "url").strip()
        match = re.fullmatch(re.escape(self.url) + r"\?token=(\S+)", output)
        require(match, f"`parley url` in the gateway said {output!r}")
        return match[1] if match else ""

    def secrets(self) -> set[str]:
        """Every secret, read as root from the volume, which no container of the project may do."""
        mounts = self.container_of("gateway").details["Mounts"]
        (volume,) = [mount["Name"] for mount in mounts if mount["Destination"] == "/run/parley"]
        read = "for one in /run/parley/secrets/*; do cat $one; echo; done"
        with_root = ("run", "--rm", "--user", "0", "--network", "none", "-v", f"{volume}:/run/parley:ro")
        return set(self.docker(*with_root, IMAGE, "sh", "-c", read).split())

    @contextmanager
    def cleaned_up(self) -> Iterator[None]:
        """Remove the stack before and after the block. Raises CheckFailed if anything is left."""
        self._down()
        try:
            yield
        except CheckFailed as failed:
            sys.stderr.write(f"{self.compose('logs', '--tail', '40')}\n{failed}\n")
            raise
        finally:
            self._down()
        volumes = self.docker("volume", "ls", "-q", "--filter", f"label=com.docker.compose.project={PROJECT}").split()
        require(not self.containers() and not volumes, f"something is left: {volumes or self.containers()}")

    def _down(self) -> None:
        """The exit code is ignored, because an engine may keep a network for a while: leftovers are checked instead."""
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
            raise CheckFailed(f"`{' '.join(words)}` ended with {done.returncode}:\n{last}")
        return done
