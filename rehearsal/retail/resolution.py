"""Resolves a message request by request into facts, writes, necessary reads, a question or a refusal."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rehearsal.retail.customer_requests import Request, read_requests
from rehearsal.retail.lookups import look_up
from rehearsal.retail.request_state import HANDOVER, Call, NotPossible, QuestionNeeded, ReadsNeeded, RequestState
from rehearsal.retail.writes import WRITES

ITEM_WRITES = ("return_delivered_order_items", "exchange_delivered_order_items", "modify_pending_order_items")


@dataclass
class RequestOutcome:
    """One request and its outcome so far."""

    request: Request
    writes: list[Call] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    refused: str = ""
    question: QuestionNeeded | None = None
    reads: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Resolution:
    """All requests of a message. `doubt`: ambiguous words that prevent any action. `writes`: all writes, in order."""

    state: RequestState
    outcomes: tuple[RequestOutcome, ...] = ()
    writes: tuple[Call, ...] = ()
    doubt: str = ""

    @property
    def reads(self) -> list[Call]:
        return list({call.key: call for outcome in self.outcomes for call in outcome.reads}.values())

    @property
    def question(self) -> QuestionNeeded | None:
        return next((outcome.question for outcome in self.outcomes if outcome.question), None)

    @property
    def due(self) -> list[Call]:
        """Writes that have not been attempted yet."""
        return [write for write in self.writes if self.state.past_call(write) is None]

    @property
    def is_open(self) -> bool:
        return bool(self.reads or self.question or self.due)

    @property
    def is_understood(self) -> bool:
        return bool(self.outcomes) and not self.doubt


def resolve(state: RequestState) -> Resolution:
    """Resolve every request with the results so far. The same prompt gives the same resolution."""
    requests, doubt = _requests(state)
    if doubt or not requests:
        return Resolution(state, doubt=doubt)
    outcomes = tuple(_resolve_request(state, request) for request in requests)
    return Resolution(state, outcomes, tuple(_ordered_writes(outcomes)))


def _requests(state: RequestState) -> tuple[list[Request], str]:
    """The requests of the message and of later feedback, which replaces those of the same kind; and doubtful words."""
    requests, doubt = read_requests(state.message)
    for line in () if state.rephrased else state.feedback:
        fresh, more = read_requests(line)
        kinds = {request.kind for request in fresh}
        requests, doubt = [request for request in requests if request.kind not in kinds] + fresh, doubt or more
    return requests, doubt


def _resolve_request(state: RequestState, request: Request) -> RequestOutcome:
    outcome = RequestOutcome(request)
    try:
        if request.kind == "lookup":
            outcome.facts = look_up(state, request)
        else:
            outcome.writes = WRITES[request.kind](state, request)
    except ReadsNeeded as need:
        outcome.reads = need.calls
    except QuestionNeeded as question:
        outcome.question = question
    except NotPossible as why:
        outcome.refused = str(why)
    return outcome


def _ordered_writes(outcomes: Sequence[RequestOutcome]) -> list[Call]:
    """Every write once, changes of items last. The store allows one of these an order: if there are more, none is
    made."""
    orders = [
        write.arguments["order_id"] for outcome in outcomes for write in outcome.writes if write.tool in ITEM_WRITES
    ]
    twice = {order_id for order_id in orders if orders.count(order_id) > 1}
    for outcome in outcomes:
        if any(write.arguments.get("order_id") in twice for write in outcome.writes):
            outcome.writes = []
            outcome.refused = "an order takes one change of its items: say all of it in one sentence, please."
    writes = {write.key: write for outcome in outcomes for write in outcome.writes}
    return sorted(writes.values(), key=lambda call: (call.tool == HANDOVER, call.tool in ITEM_WRITES))
