"""What the model served, compared with the calls that the log accounts for. Pure.

Nothing links a request to its account but the service that made it and the tokens of its reply. So requests are
compared by service: replies by their tokens; requests that the model refused, and those it was interrupted in, by
their number, because the client can only estimate what these cost.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from chaos.process import Exit
from parley.events.values import ModelCall, Service

REFUSED = frozenset({"429", "500", "refuse_schema", "refuse_format"})  # answered with an error status: no tokens
RUNNING = "running"
SEEN_LATE = timedelta(seconds=1)  # between the end of a process and the moment in which the suite sees it


class Served(NamedTuple):
    """One request as the model counted it; without tokens where it made no reply."""

    role: str
    outcome: str
    tokens: tuple[int, int] | None = None  # of the prompt, and of the reply


class WorkSpan(NamedTuple):
    """From the event that began a service's work to the one that ended it; None: nothing has."""

    service: Service
    began: datetime
    ended: datetime | None = None

    def open_at(self, first: datetime, last: datetime) -> bool:
        return self.began <= last and (self.ended is None or self.ended >= first)


class Account(NamedTuple):
    """One service's calls. `twice`: accounted for and not served. `lost`: served and not accounted for; that many may
    be, because a process that was killed had so much work in hand."""

    role: str
    checked: int
    twice: int
    lost: int
    allowed: int


def accounts(
    served: Sequence[Served],
    calls: Sequence[ModelCall],
    exits: Iterable[Exit],
    works: Sequence[WorkSpan],
    *,
    grace: float,
) -> Iterator[Account]:
    """By service, in order of name. Requests that a killed model left running were not served."""
    allowed = _in_hand([one for one in exits if one.at and _cut_short(one, grace)], works)
    for role in sorted({one.role for one in served} | {call.role for call in calls}):
        mine, paid = [one for one in served if one.role == role], [call for call in calls if call.role == role]
        replies = Counter(one.tokens for one in mine if one.tokens)
        counted = Counter((call.prompt_tokens, call.completion_tokens) for call in paid if not call.estimated)
        refused = sum(one.outcome in REFUSED for one in mine)
        running = sum(one.outcome == RUNNING for one in mine)
        interrupted = len(mine) - refused - running - (replies & counted).total()
        without_tokens = sum(call.estimated and not call.prompt_tokens for call in paid)
        estimated = sum(call.estimated and call.prompt_tokens > 0 for call in paid)
        lost = max(0, refused - without_tokens) + max(0, interrupted - estimated)
        yield Account(role, len(mine) + len(paid), (counted - replies).total(), lost, allowed[role])


def _cut_short(one: Exit, grace: float) -> bool:
    """It could not record what it had in hand: it was killed, or ended when its grace was over."""
    return one.asked in ("SIGKILL", "cut", "") or one.seconds >= grace


def _in_hand(exits: Iterable[Exit], works: Sequence[WorkSpan]) -> Mapping[str, int]:
    """By service, how much work was open when its processes ended like this: each had one call under way at most."""
    found: Counter[str] = Counter()
    for one in exits:
        service, last = one.program.rpartition("-")[0], datetime.fromtimestamp(one.at).astimezone()
        first = last - SEEN_LATE - timedelta(seconds=one.late)
        found[service] += sum(work.service == service and work.open_at(first, last) for work in works)
    return found
