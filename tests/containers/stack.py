"""The containers of docker-compose.yml under their own project name, as `scripts/try-containers` controls them."""

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from cli.operate.ports import free_port
from shared.environment import child_environment

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = ROOT / "docker-compose.yml"
PROJECT, IMAGE = "parley-trial", "parley:trial"
OF_PROJECT = ("--filter", f"label=com.docker.compose.project={PROJECT}")


class Container(NamedTuple):
    """One container as `docker inspect` describes it."""

    service: str
    name: str
    details: dict[str, Any]

    @property
    def is_running(self) -> bool:
        return bool(self.details["State"]["Running"])

    @property
    def is_fine(self) -> bool:
        """Whether it is healthy, or exited with code 0."""
        state = self.details["State"]
        if self.is_running:
            return not state["Restarting"] and state.get("Health", {}).get("Status") in (None, "healthy")
        return not state["ExitCode"]


class Stack:
    """The containers of the project. Every method blocks, and raises RuntimeError if its command fails."""

    def __init__(self) -> None:
        port = str(free_port())
        self.url = f"http://127.0.0.1:{port}/"
        # Ignore what the developer's shell or .env sets, so that no real model is called.
        unset = dict.fromkeys(re.findall(r"\$\{(\w+):-", COMPOSE.read_text(encoding="utf-8")), "")
        ours = {"COMPOSE_PROJECT_NAME": PROJECT, "PARLEY_IMAGE": IMAGE, "AGENT_PORT": port}
        self.environment = child_environment(**unset | ours)
        has_plugin = self.run("docker", "compose", "version").returncode == 0
        self.composed = (*(("docker", "compose") if has_plugin else ("docker-compose",)), "-f", str(COMPOSE))

    def run(self, *words: str, check: bool = False) -> subprocess.CompletedProcess[str]:
        """A command's result. With `check`, raises RuntimeError with its last output if it fails."""
        done = subprocess.run(
            words, env=self.environment, cwd=ROOT, check=False, capture_output=True, text=True, errors="replace"
        )
        if check and done.returncode:
            last = "\n".join((done.stdout + done.stderr).splitlines()[-25:])
            raise RuntimeError(f"`{' '.join(words)}` ended with {done.returncode}:\n{last}")
        return done

    def docker(self, *words: str) -> str:
        """The stdout of a docker command."""
        return self.run("docker", *words, check=True).stdout

    def compose(self, *words: str) -> str:
        """The stdout of a compose command."""
        return self.run(*self.composed, *words, check=True).stdout

    def containers(self, service: str = "") -> list[Container]:
        """All containers of `compose up` or of one of its services, running or not."""
        ids = self.docker("ps", "-aq", *OF_PROJECT, "--filter", "label=com.docker.compose.oneoff=False").split()
        inspected = json.loads(self.docker("inspect", *ids)) if ids else []
        named = [
            Container(container["Config"]["Labels"]["com.docker.compose.service"], container["Name"][1:], container)
            for container in inspected
        ]
        return sorted(container for container in named if service in ("", container.service))

    def logs(self) -> Iterator[tuple[str, str]]:
        """The name of each container, with its stdout and stderr."""
        for container in self.containers():
            done = self.run("docker", "logs", container.name, check=True)
            yield container.name, done.stdout + done.stderr

    def ask_model(self, container: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON reply of a rehearsal model to a GET, or to a POST of `body`, sent within its container."""
        url, data = f"http://127.0.0.1:23333{path}", json.dumps(body).encode() if body else None
        request = f"r.Request({url!r}, {data!r}, {{'Content-Type': 'application/json'}})"
        script = f"import urllib.request as r; print(r.urlopen({request}).read().decode())"
        return json.loads(self.docker("exec", container, "python", "-ISc", script))

    def is_calling_model(self, container: Container) -> bool:
        """Whether the container has an open connection to port 23333, the model's."""
        lines = self.docker("exec", container.name, "cat", "/proc/net/tcp").splitlines()[1:]
        return any(line.split()[2].endswith(f":{23333:04X}") and line.split()[3] == "01" for line in lines)

    def wait_until_healthy(self, **replicas: int) -> None:
        """Wait until every container is healthy or exited with code 0, with these replicas."""

        def is_healthy() -> bool:
            containers = self.containers()
            services = [container.service for container in containers]
            return all(container.is_fine for container in containers) and all(
                services.count(name) == count for name, count in replicas.items()
            )

        wait_until(is_healthy)

    def remove(self) -> None:
        """Remove everything of the project. Raises RuntimeError if anything is left."""
        # Ignore the exit codes, because an engine may keep a network for a while.
        self.run(*self.composed, "down", "--volumes", "--remove-orphans")
        self.run("docker", "rmi", IMAGE)
        left = self.docker("ps", "-aq", *OF_PROJECT) + self.docker("volume", "ls", "-q", *OF_PROJECT)
        if left:
            raise RuntimeError(f"something is left: {left.split()}")


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds. The timeout is the test's."""
    while not condition():
        time.sleep(0.5)
