"""Resolves a message request by request: what is known, what must be read or asked first, what is refused."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rehearsal.retail.lookups import look_up
from rehearsal.retail.requests import Request, read_requests
from rehearsal.retail.state import HANDOVER, Ask, Call, Need, NotPossible, State
from rehearsal.retail.writes import WRITES

ITEM_WRITES = ("return_delivered_order_items", "exchange_delivered_order_items", "modify_pending_order_items")


@dataclass
class Outcome:
    """One request and what it comes to."""

    request: Request
    writes: list[Call] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    refused: str = ""
    question: Ask | None = None
    reads: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Overview:
    """All requests of a message. `doubt`: ambiguous words, because of which nothing is done. `writes`: all writes."""

    state: State
    outcomes: tuple[Outcome, ...] = ()
    writes: tuple[Call, ...] = ()
    doubt: str = ""

    @property
    def reads(self) -> list[Call]:
        return list({call.key: call for outcome in self.outcomes for call in outcome.reads}.values())

    @property
    def question(self) -> Ask | None:
        return next((outcome.question for outcome in self.outcomes if outcome.question), None)

    @property
    def due(self) -> list[Call]:
        """Writes that were not planned before, whatever became of them."""
        return [write for write in self.writes if self.state.past_call(write) is None]

    @property
    def open(self) -> bool:
        return bool(self.reads or self.question or self.due)

    @property
    def understood(self) -> bool:
        return bool(self.outcomes) and not self.doubt


def survey(state: State) -> Overview:
    """Resolve every request with what is known so far: the same prompt gives the same survey."""
    requests, doubt = _requests(state)
    if doubt or not requests:
        return Overview(state, doubt=doubt)
    outcomes = tuple(_resolved(state, request) for request in requests)
    return Overview(state, outcomes, tuple(_in_order(outcomes)))


def _requests(state: State) -> tuple[list[Request], str]:
    """The requests of the message and of later feedback, which replaces requests of the same kind; and the doubt."""
    requests, doubt = read_requests(state.message)
    for said in () if state.rephrased else state.feedback:
        fresh, more = read_requests(said)
        kinds = {request.kind for request in fresh}
        requests, doubt = [one for one in requests if one.kind not in kinds] + fresh, doubt or more
    return requests, doubt


def _resolved(state: State, request: Request) -> Outcome:
    outcome = Outcome(request)
    try:
        if request.kind == "lookup":
            outcome.facts = look_up(state, request)
        else:
            outcome.writes = WRITES[request.kind](state, request)
    except Need as need:
        outcome.reads = need.calls
    except Ask as question:
        outcome.question = question
    except NotPossible as why:
        outcome.refused = str(why)
    return outcome


def _in_order(outcomes: Sequence[Outcome]) -> list[Call]:
    """Every write once, changes of items last. The store takes one of these an order: of several, none is made."""
    orders = [write.arguments["order_id"] for one in outcomes for write in one.writes if write.tool in ITEM_WRITES]
    twice = {one for one in orders if orders.count(one) > 1}
    for outcome in outcomes:
        if any(write.arguments.get("order_id") in twice for write in outcome.writes):
            outcome.writes = []
            outcome.refused = "an order takes one change of its items: say all of it in one sentence, please."
    writes = {write.key: write for outcome in outcomes for write in outcome.writes}
    return sorted(writes.values(), key=lambda call: (call.tool == HANDOVER, call.tool in ITEM_WRITES))
