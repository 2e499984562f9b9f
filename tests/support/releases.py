"""Runs Parley's services from two checkouts side by side: this release, and a simulated next one."""

import asyncio
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from chaos.process import ROOT, ServiceProcess
from cli.operate.ports import free_port
from parley.events.envelope import FORMAT
from shared.bus import Bus
from shared.bus.provision import provision
from shared.environment import child_environment
from shared.settings import Settings
from tests.support.http_client import http_client
from tests.support.nats import nats_server

Json = dict[str, Any]
SERVICES = ("plan_store", "planner", "generator", "verifier", "gateway")
CODE = ("flows", "packs", "parley", "services", "shared", "sql")
STOP_SECONDS, START_SECONDS = 20.0, 90.0  # how long a service may take

# The changes of the next release: its planner adds a field that readers must understand, so the event needs the next
# format.
NEXT = {
    "parley/events/envelope.py": (f"FORMAT = {FORMAT} ", f"FORMAT = {FORMAT + 1} "),
    "parley/events/facts.py": (
        '    type: Literal["plan.drafted"] = "plan.drafted"\n',
        '    type: Literal["plan.drafted"] = "plan.drafted"\n    mood: str = ""\n',
    ),
    "shared/domain/plan/commands.py": (
        "**event_meta(session, meta, facts.PlanDrafted),",
        f'**(event_meta(session, meta, facts.PlanDrafted) | {{"needs": {FORMAT + 1}}}), mood="calm",',
    ),
}


def next_release(folder: Path) -> Path:
    """Create a checkout of a simulated next release."""
    for name in CODE:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (old, new) in NEXT.items():
        text = (folder / name).read_text(encoding="utf-8")
        assert old in text, f"{name} has changed: the next release must change it otherwise"
        (folder / name).write_text(text.replace(old, new), encoding="utf-8")
    return folder


class Releases:
    """A running Parley. `roll` replaces a service by that of another checkout, as an operator would."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.settings, self.bus = settings, Bus(settings, "releases")
        self._folder = folder
        self._running: dict[str, ServiceProcess] = {}
        self._started = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.settings.agent_port}"

    async def start(self, checkout: Path) -> None:
        await provision(self.settings)
        await self.bus.connect()
        await self._begin("rehearsal", ROOT)
        for service in SERVICES:
            await self._begin(service, checkout)
        await asyncio.gather(*(self._ready(service) for service in SERVICES))

    async def roll(self, service: str, checkout: Path) -> None:
        await self._running.pop(service).stop(kill_after=STOP_SECONDS)
        await self._begin(service, checkout)
        await self._ready(service)

    async def stop(self) -> None:
        await asyncio.gather(*(process.stop(kill_after=STOP_SECONDS) for process in self._running.values()))
        await self.bus.stop()

    async def _begin(self, service: str, checkout: Path) -> None:
        self._started += 1
        module = "rehearsal.app" if service == "rehearsal" else f"services.{service}.app"
        name = f"{service}-{self._started}"
        process = ServiceProcess(
            name, (sys.executable, "-m", module), self._environment(), self._folder, folder=checkout
        )
        self._running[service] = process
        await process.start()

    async def _ready(self, service: str) -> None:
        """Wait until the service's log reports that it is ready."""
        log = self._folder / f"{self._running[service].name}.log"
        async with asyncio.timeout(START_SECONDS):
            while '"ready"' not in log.read_text(encoding="utf-8"):  # noqa: ASYNC110  a file sends no event
                await asyncio.sleep(0.1)

    def _environment(self) -> dict[str, str]:
        cleared = dict.fromkeys(("OPENAI_API_KEY", "INTERNLM_API_URL", "INTERNLM_API_KEY", "RETAIL_DATABASE_URL"), "")
        return child_environment(
            **cleared,
            NATS_URL=self.settings.nats_url,
            PARLEY_HOME=str(self.settings.parley_home),
            PARLEY_AUTH="none",
            PARLEY_SECRET="s" * 40,
            MAX_REQUESTS_PER_SECOND="0",
            MAX_RUNNING_SESSIONS_PER_USER="0",
            STUCK_WORK_TIMEOUT="20",
            GRACEFUL_TIMEOUT="5",
            AGENT_PORT=str(self.settings.agent_port),
            REHEARSAL_PORT=str(self.settings.rehearsal_port),
            OPENAI_BASE_URL=f"http://127.0.0.1:{self.settings.rehearsal_port}/v1",
            OPENAI_MODEL="rehearsal",
            HEALTH_PORT="0",
        )


@asynccontextmanager
async def releases(folder: Path, checkout: Path) -> AsyncIterator[Releases]:
    """A running Parley of this checkout; its services' logs are in `folder`."""
    with nats_server(folder / "nats") as server:
        settings = Settings(nats_url=server.url, parley_home=folder, agent_port=free_port(), rehearsal_port=free_port())
        running = Releases(folder, settings)
        try:
            await running.start(checkout)
            yield running
        finally:
            await running.stop()


class Person:
    """Takes one session after another through plan, approval and code over REST; retries refused requests."""

    def __init__(self, name: str, url: str) -> None:
        self.acknowledged: list[tuple[str, str, int]] = []  # session, id of the message, version
        self.refused: set[str] = set()
        self.done: list[str] = []
        self._name, self._url = name, url
        self._leaving = False

    def leave(self) -> None:
        """Stop after the current session."""
        self._leaving = True

    async def live(self) -> None:
        async with http_client(base_url=self._url, trust_env=False) as http:
            while not self._leaving:
                await self.run_session(http, f"{self._name}-{len(self.done)}")

    async def run_session(self, http: httpx2.AsyncClient, key: str) -> None:
        session = await self.begin(http, key)
        await self.approve(http, session, "text_plan_approval", f"{key}-plan")
        await self.approve(http, session, "code_approval", f"{key}-code")
        self.done.append(session)

    async def begin(self, http: httpx2.AsyncClient, key: str) -> str:
        request = {"id": key, "request": "Help me create a simple calculator"}
        started = await self.until_taken(http, "/api/sessions", request)
        self.acknowledged.append((started["session_id"], key, started["version"]))
        return str(started["session_id"])

    async def approve(self, http: httpx2.AsyncClient, session: str, state: str, key: str) -> None:
        snapshot = await self.sees(http, session, state)
        message = {"type": "approval", "id": key, "approved": True, "version": snapshot["review"]["version"]}
        done = await self.until_taken(http, f"/api/sessions/{session}/messages", message)
        self.acknowledged.append((session, key, done["version"]))

    async def sees(self, http: httpx2.AsyncClient, session: str, state: str) -> Json:
        """Wait for this state. Returns the session's snapshot."""
        while (snapshot := await self.look(http, session)).get("state") != state:  # noqa: ASYNC110  REST clients poll
            await asyncio.sleep(0.2)
        return snapshot

    async def look(self, http: httpx2.AsyncClient, session: str) -> Json:
        """The session's snapshot or an error body; empty when the gateway cannot be reached."""
        try:
            answer = await http.get(f"/api/sessions/{session}")
        except httpx2.HTTPError:
            return {}
        snapshot: Json = answer.json()
        self._note(answer.status_code, snapshot)
        return snapshot

    async def until_taken(self, http: httpx2.AsyncClient, path: str, message: Json) -> Json:
        while True:
            try:
                answer = await http.post(path, json=message)
            except httpx2.HTTPError:  # the gateway is being replaced
                await asyncio.sleep(0.2)
                continue
            answer_data: Json = answer.json()
            self._note(answer.status_code, answer_data)
            if answer.status_code < 300:
                return answer_data
            assert answer_data["code"] in {"upgrade_needed", "unavailable", "not_found", "slow_down"}, answer_data
            await asyncio.sleep(0.3)

    def _note(self, status: int, body: Json) -> None:
        if status >= 300:
            self.refused.add(str(body["code"]))
