"""What a client costs the gateway, by protocol version: CPU time and bytes an event, over the recorded sessions.

    python -m bench.protocol_costs [TIMES]

A protocol 1 client has to request a snapshot after each event, because the event's messages are incomplete. A protocol
2 client needs none. Only encoding the messages is measured; protocol 1 also has to read the log for each snapshot.
"""

import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from parley.events import SessionEvent
from services.gateway.live.audience import Audience, dump
from shared.domain.session import Session
from shared.log import SessionAtPosition, accept
from tests.logs.recorded import load, names

type Step = tuple[Session, SessionEvent, Session]


class Cost(NamedTuple):
    seconds: float
    size: int
    snapshot_requests: int


def steps(name: str) -> Iterator[Step]:
    log = load(name)
    loaded = SessionAtPosition(Session(log.session_id), 0)
    for raw in log.messages:
        after, event, _ = accept(loaded, raw)
        if event:
            yield loaded.session, event, after.session
        loaded = after


def protocol_1(step: Step) -> tuple[int, int]:
    """Bytes and snapshot requests of one event in protocol 1."""
    audience = Audience(1)
    return audience.event(*step).size + len(dump(audience.snapshot(step[2]))), 1


def protocol_2(step: Step) -> tuple[int, int]:
    return Audience(2).event(*step).size, 0


def measure(sessions: list[list[Step]], encode: Callable[[Step], tuple[int, int]], times: int) -> Cost:
    began = time.process_time()
    for _ in range(times):
        costs = [encode(step) for session in sessions for step in session]
    seconds = (time.process_time() - began) / times
    return Cost(seconds, sum(size for size, _ in costs), sum(requests for _, requests in costs))


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"{'session':16} {'events':>6}  {'ms an event':>15}  {'bytes an event':>17}  {'questions':>11}")
    whole = [(name, list(steps(name))) for name in names()]
    for name, session in [*whole, ("all", [step for _, session_steps in whole for step in session_steps])]:
        for tell in (protocol_1, protocol_2):
            measure([session], tell, 2)  # warm-up: pydantic builds validators on first use
        before, after = measure([session], protocol_1, times), measure([session], protocol_2, times)
        events = len(session)
        speed = f"{1000 * before.seconds / events:6.2f} → {1000 * after.seconds / events:5.2f}"
        size = f"{before.size // events:7,} → {after.size // events:6,}"
        print(
            f"{name:16} {events:6}  {speed:>15}  {size:>17}  {before.snapshot_requests:>5} → {after.snapshot_requests}"
        )


if __name__ == "__main__":
    main()
