"""Crashes every service before and after each of its appends: `python -m chaos.crash_points [--services planner …]`.

One Parley runs. Its services crash at a chosen append (`chaos.crashing_service`). An undisturbed session of each
scenario shows how many appends each service makes. Each of these then crashes in a session of its own, which must
produce the same events as the undisturbed one. At the end all invariants are checked.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import structlog

from chaos import collect
from chaos.crash_scenarios import CrashScenario, SteadyScript, scenarios
from chaos.crashing_service import CrashPoint, Side
from chaos.deployment import GRACE_SECONDS, Deployment, DeploymentShape, deployment
from chaos.evidence import Evidence, UserOutcome
from chaos.invariant_check import Violation
from chaos.invariants import check_invariants
from chaos.process import load_factor
from chaos.replay import NOTE_TOOL
from chaos.simulated_user import SimulatedUser
from chaos.socket_recorder import Json
from parley.events import SessionEvent, facts
from parley.protocol.tools import TOOLS_LIST, ListTools
from shared.bus import BusUnavailable
from shared.services import SERVICES
from shared.settings import Settings
from shared.testing import InMemoryStore

SIDES: tuple[Side, ...] = ("before", "after")
ACK_WAIT = 1.0  # seconds until a dead worker's work is redelivered
SESSION_TIMEOUT = 180.0  # seconds for a session with a crash, on an idle machine


class CrashDeployment(Deployment):
    """A deployment without faults other than crashes at appends."""

    @property
    def settings(self) -> Settings:
        return super().settings.model_copy(update={"ack_wait": ACK_WAIT})

    def environment(self, name: str) -> dict[str, str]:
        """Keep the number of appends constant: a cached path saves one, and a slow model call may add one."""
        same = {"PATH_CACHE_SIZE": "0", "MODEL_TIMEOUT": f"{SESSION_TIMEOUT:g}", "ACK_WAIT": f"{ACK_WAIT:g}"}
        return super().environment(name) | same


@asynccontextmanager
async def crash_deployment(folder: Path) -> AsyncIterator[CrashDeployment]:
    """A running CrashDeployment inside the block."""
    async with deployment(folder, DeploymentShape(gateways=1), CrashDeployment) as running:
        assert isinstance(running, CrashDeployment)
        await running.arm_model_fault(token_delay=0)  # replies take no time
        yield running


class CrashRun(NamedTuple):
    """One session, with its crash point if it had one. `error` says what went wrong, or ""."""

    scenario: CrashScenario
    service: str
    crash_point: CrashPoint | None
    user: SimulatedUser
    events: Sequence[SessionEvent]
    error: str = ""

    @property
    def event_types(self) -> list[str]:
        """The types of its events, one for each outcome. Usage is left out: an interrupted model call may repeat."""
        return [
            event.type for event in self.events if event.type != "usage.recorded" for _ in range(_outcome_count(event))
        ]

    @property
    def appends(self) -> Counter[str]:
        """The number of events that each service appended."""
        actors = Counter(event.actor.partition(":")[0] for event in self.events)
        return Counter({_service_of(actor): count for actor, count in actors.items()})

    def __str__(self) -> str:
        point = self.crash_point
        where = f"{self.service} {point.side} its append {point.append}" if point else "undisturbed"
        return f"{self.scenario.name}, {where}"


def _outcome_count(event: SessionEvent) -> int:
    """The number of outcomes in the event: those of actions that ended together are one event."""
    return len(event.outcomes) if isinstance(event, facts.ActionsFinished) else 1


def _service_of(actor: str) -> str:
    return {"user": "gateway", "keeper": "plan_store"}.get(actor, actor)


class CrashTester:
    """Plays sessions one after the other, so that a crash point affects one session only."""

    def __init__(self, deployment: CrashDeployment) -> None:
        self._deployment = deployment
        self.runs: list[CrashRun] = []

    async def play(
        self,
        scenario: CrashScenario,
        service: str = "",
        crash_point: CrashPoint | None = None,
        expected: CrashRun | None = None,
    ) -> CrashRun:
        """Play a session to its end. It must produce the same events as `expected`."""
        if scenario.kind == "notes":
            await self._wait_for_notes_tool()
        number = len(self.runs)
        session_id = f"{scenario.name}-{number}"
        content = scenario.content.replace("NOTE", f"note-{session_id}")
        message: Json = {"type": "user_message", "content": content, "workflow": _workflow(scenario)}
        message["settings"] = dict(scenario.settings)
        script = SteadyScript(0, number, scenario.kind, session_id, message, scenario.talk)
        user = scenario.user_type(script, self._deployment.gateway_urls)
        if crash_point:
            crash_point.arm(self._deployment.crash_file(service))
        error = ""
        try:
            async with asyncio.timeout(SESSION_TIMEOUT * load_factor()):
                await user.run()
        except TimeoutError:
            error = f"the session had not ended after {SESSION_TIMEOUT * load_factor():.0f} s"
        events = await InMemoryStore(self._deployment.bus.log).events(session_id)
        run = CrashRun(scenario, service, crash_point, user, events, error)
        if crash_point and CrashPoint.read(self._deployment.crash_file(service)):
            self._deployment.crash_file(service).unlink()
            not_reached = f"no crash: the service made only {run.appends[service]} appends"
            batched_outcomes = sum(_outcome_count(event) - 1 for event in run.events if service == "executor")
            run = run._replace(error=error or ("" if batched_outcomes else not_reached))
        if expected and scenario.is_deterministic and not run.error and run.event_types != expected.event_types:
            run = run._replace(error=f"its events were {run.event_types}, undisturbed {expected.event_types}")
        self.runs.append(run)
        return run

    async def _wait_for_notes_tool(self) -> None:
        """Wait until the executor lists the tool without keys: a restarted executor starts its MCP servers first."""
        request = ListTools().model_dump_json().encode()
        async with asyncio.timeout(SESSION_TIMEOUT * load_factor()):
            while True:
                with suppress(BusUnavailable):
                    if NOTE_TOOL.encode() in await self._deployment.bus.request(TOOLS_LIST, request):
                        return
                await asyncio.sleep(0.2)

    async def play_all(self, scenario: CrashScenario, services: Sequence[str]) -> AsyncIterator[CrashRun]:
        """Play the undisturbed session first, then one for each crash point."""
        yield (expected := await self.play(scenario))
        for service, crash_point in crash_points(
            expected.appends, [name for name in services if name in scenario.services]
        ):
            yield await self.play(scenario, service, crash_point, expected)

    async def violations(self) -> list[Violation]:
        """Violated invariants over all sessions, once plan_store has projected every event."""
        deployed, log = self._deployment, self._deployment.bus.log
        async with asyncio.timeout(SESSION_TIMEOUT * load_factor()):
            while await deployed.bus.outstanding("plan_store"):  # noqa: ASYNC110  the broker sends no notification
                await asyncio.sleep(0.1)
        effects = await collect.read_effects(deployed.settings.retail_url)
        worlds, replayed, answers = await collect.read_worlds(deployed.settings.retail_url, effects)
        users = [run.user for run in self.runs]
        evidence = Evidence(
            log=await collect.read_log(log),
            socket_records=[record for person in users for record in person.client.recorder.records],
            user_outcomes=[
                UserOutcome(person.script.session_id, person.script.kind, person.ending, person.failure_reason)
                for person in users
            ],
            rows=await collect.read_rows(deployed.settings.sql_url),
            rebuilt_rows=await collect.read_rebuilt_rows(log, deployed.folder),
            effects=effects,
            worlds=worlds,
            replayed_worlds=replayed,
            replayed_results=answers,
            notes=collect.read_notes(deployed.notes_file),
            served_requests=collect.read_served(deployed.served_file),
            exits=deployed.exits,
        )
        results = check_invariants(evidence, grace=GRACE_SECONDS)
        return [violation for result in results for violation in result.violations]


def _workflow(scenario: CrashScenario) -> str:
    return scenario.kind if scenario.kind in ("conversation", "flow") else "agentflow"


def crash_points(appends: Counter[str], services: Sequence[str]) -> Iterator[tuple[str, CrashPoint]]:
    """Crash points before and after every append of these services."""
    for service in services:
        for number in range(1, appends[service] + 1):
            yield from ((service, CrashPoint(number, side)) for side in SIDES)


async def run_all(folder: Path, services: Sequence[str], names: Sequence[str]) -> bool:
    """Play every crash point and print the results. Returns whether all sessions and invariants are fine."""
    async with crash_deployment(folder) as running:
        tester = CrashTester(running)
        for scenario in scenarios():
            if scenario.name not in names:
                continue
            async for run in tester.play_all(scenario, services):
                print(f"{time.strftime('%H:%M:%S')}  {run}: {run.error or 'ok'}", flush=True)
        violations = await tester.violations()
    failed = [run for run in tester.runs if run.error]
    for violation in violations:
        print(f"{violation.invariant}  {violation.where}: {violation.description}")
    done = sum(1 for run in tester.runs if run.crash_point)
    print(f"{done} crashes; {len(failed)} sessions failed; {len(violations)} violated invariants")
    return not failed and not violations


def main() -> int:
    names = [scenario.name for scenario in scenarios()]
    options = argparse.ArgumentParser(prog="python -m chaos.crash_points", description=__doc__.partition("\n")[0])
    options.add_argument("--services", nargs="+", choices=SERVICES, default=tuple(SERVICES))
    options.add_argument("--scenarios", nargs="+", choices=names, default=names)
    args = options.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    with tempfile.TemporaryDirectory(prefix="parley-cuts-") as folder:
        return 0 if asyncio.run(run_all(Path(folder).resolve(), args.services, args.scenarios)) else 1


if __name__ == "__main__":
    sys.exit(main())
