"""Compares the requests that the model served with the calls recorded in the log. Pure.

Requests carry no id that the log knows, so they are compared by service: complete replies by their tokens, refused and
interrupted requests by their number, because the client can only estimate their cost.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from chaos.process import ProcessExit
from parley.events.values import ModelCall, Service

# answered, but without a completion
REFUSED = frozenset({"429", "500", "html", "error200", "refuse_schema", "refuse_format"})
RUNNING = "running"
EXIT_DETECTION_DELAY = timedelta(seconds=1)  # until the suite notices the end of a process


class ServedRequest(NamedTuple):
    """One request as the model recorded it. `tokens` is None if it sent no reply."""

    role: str
    outcome: str
    tokens: tuple[int, int] | None = None  # of the prompt, and of the reply


class WorkSpan(NamedTuple):
    """From the event that began a service's work to the one that ended it; None: not ended."""

    service: Service
    began: datetime
    ended: datetime | None = None

    def open_at(self, first: datetime, last: datetime) -> bool:
        return self.began <= last and (self.ended is None or self.ended >= first)


class UsageBalance(NamedTuple):
    """One service's calls. `overcounted`: recorded but not served. `lost`: served but not recorded.

    `allowed_losses`: a killed process may lose the call that it had under way.
    """

    role: str
    checked: int
    overcounted: int
    lost: int
    allowed_losses: int


def usage_balances(
    served: Sequence[ServedRequest],
    calls: Sequence[ModelCall],
    exits: Iterable[ProcessExit],
    work_spans: Sequence[WorkSpan],
    *,
    grace: float,
) -> Iterator[UsageBalance]:
    """By service, sorted by name. Requests that a killed model left running do not count as served."""
    allowed = _open_work([exited for exited in exits if exited.at and _was_interrupted(exited, grace)], work_spans)
    for role in sorted({request.role for request in served} | {call.role for call in calls}):
        requests, accounted = (
            [request for request in served if request.role == role],
            [call for call in calls if call.role == role],
        )
        replies = Counter(request.tokens for request in requests if request.tokens)
        counted = Counter((call.prompt_tokens, call.completion_tokens) for call in accounted if not call.estimated)
        refused = sum(request.outcome in REFUSED for request in requests)
        running = sum(request.outcome == RUNNING for request in requests)
        interrupted = len(requests) - refused - running - (replies & counted).total()
        without_tokens = sum(call.estimated and not call.prompt_tokens for call in accounted)
        estimated = sum(call.estimated and call.prompt_tokens > 0 for call in accounted)
        lost = max(0, refused - without_tokens) + max(0, interrupted - estimated)
        yield UsageBalance(role, len(requests) + len(accounted), (counted - replies).total(), lost, allowed[role])


def _was_interrupted(process_exit: ProcessExit, grace: float) -> bool:
    """Whether the process could not record its work: it was killed, or its grace period ran out."""
    return process_exit.cause in ("SIGKILL", "cut", "") or process_exit.seconds >= grace


def _open_work(exits: Iterable[ProcessExit], work_spans: Sequence[WorkSpan]) -> Mapping[str, int]:
    """By service, the work spans that were open when its processes ended. Each had at most one call under way."""
    counts: Counter[str] = Counter()
    for process_exit in exits:
        service, last = process_exit.program.rpartition("-")[0], datetime.fromtimestamp(process_exit.at).astimezone()
        first = last - EXIT_DETECTION_DELAY - timedelta(seconds=process_exit.late_seconds)
        counts[service] += sum(work.service == service and work.open_at(first, last) for work in work_spans)
    return counts
