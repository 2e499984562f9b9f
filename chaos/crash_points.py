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

from chaos.collect import collect_evidence
from chaos.crash_scenarios import CrashScenario, SteadyScript, scenarios
from chaos.crashing_service import CrashPoint, Side
from chaos.deployment import GRACE_SECONDS, Deployment, DeploymentShape, deployment
from chaos.invariant_check import Violation
from chaos.invariants import check_invariants
from chaos.process import load_factor
from chaos.reconnecting_client import Json
from chaos.replay import NOTE_TOOL
from chaos.simulated_user import SimulatedUser
from parley.events import SessionEvent, facts
from parley.protocol.tools import TOOLS_LIST, ListTools
from shared.bus import BusUnavailable
from shared.services import SERVICES
from shared.testing import InMemoryStore

SIDES: tuple[Side, ...] = ("before", "after")
SERVICE_OF = {"user": "gateway", "keeper": "plan_store"}  # by actor, where they differ
SESSION_TIMEOUT = 180.0  # seconds for a session with a crash, on an idle machine


# The number of appends is constant: a cached path would save one, and a slow model call could add one.
SHAPE = DeploymentShape(
    gateways=1, ack_wait=1.0, environment={"PATH_CACHE_SIZE": "0", "MODEL_TIMEOUT": f"{SESSION_TIMEOUT:g}"}
)


@asynccontextmanager
async def crash_deployment(folder: Path) -> AsyncIterator[Deployment]:
    """A running deployment inside the block, without faults other than crashes at appends."""
    async with deployment(folder, SHAPE) as running:
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
        return Counter({SERVICE_OF.get(actor, actor): count for actor, count in actors.items()})

    def __str__(self) -> str:
        point = self.crash_point
        where = f"{self.service} {point.side} its append {point.append}" if point else "undisturbed"
        return f"{self.scenario.name}, {where}"


def _outcome_count(event: SessionEvent) -> int:
    """The number of outcomes in the event: those of actions that ended together are one event."""
    return len(event.outcomes) if isinstance(event, facts.ActionsFinished) else 1


class CrashTester:
    """Plays sessions one after the other, so that a crash point affects one session only."""

    def __init__(self, deployment: Deployment) -> None:
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
        """Violated invariants over all sessions, once all messages are handled."""
        await self._deployment.wait_until_drained()
        evidence = await collect_evidence(self._deployment, [run.user for run in self.runs])
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
