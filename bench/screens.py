"""What a screen costs the gateway, by protocol: CPU and bytes an event, over the recorded sessions.

    python -m bench.screens [TIMES]

Protocol 1 is taken as a page has to use it: after each event it asks once for a snapshot, because what an event's
messages leave out is only there. Protocol 2 needs no question. Only the making of the messages is measured, which is
where the two differ; the reading of the log before each snapshot comes on top of protocol 1.
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
    asked: int


def steps(name: str) -> Iterator[Step]:
    log = load(name)
    loaded = SessionAtPosition(Session(log.session_id), 0)
    for raw in log.messages:
        after, event, _ = accept(loaded, raw)
        if event:
            yield loaded.session, event, after.session
        loaded = after


def first(step: Step) -> tuple[int, int]:
    """Bytes and questions of one event in protocol 1."""
    audience = Audience(1)
    return audience.event(*step).size + len(dump(audience.snapshot(step[2]))), 1


def second(step: Step) -> tuple[int, int]:
    return Audience(2).event(*step).size, 0


def measured(sessions: list[list[Step]], tell: Callable[[Step], tuple[int, int]], times: int) -> Cost:
    begun = time.process_time()
    for _ in range(times):
        told = [tell(step) for session in sessions for step in session]
    seconds = (time.process_time() - begun) / times
    return Cost(seconds, sum(size for size, _ in told), sum(asked for _, asked in told))


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"{'session':16} {'events':>6}  {'ms an event':>15}  {'bytes an event':>17}  {'questions':>11}")
    whole = [(name, list(steps(name))) for name in names()]
    for name, session in [*whole, ("all", [step for _, one in whole for step in one])]:
        for tell in (first, second):
            measured([session], tell, 2)  # validators are made at first use
        before, after = measured([session], first, times), measured([session], second, times)
        events = len(session)
        speed = f"{1000 * before.seconds / events:6.2f} → {1000 * after.seconds / events:5.2f}"
        size = f"{before.size // events:7,} → {after.size // events:6,}"
        print(f"{name:16} {events:6}  {speed:>15}  {size:>17}  {before.asked:>5} → {after.asked}")


if __name__ == "__main__":
    main()
