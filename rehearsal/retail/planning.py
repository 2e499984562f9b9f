"""The whole of a request, wish by wish: what is done, what is due, what must be looked up or asked, what is refused."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from rehearsal.retail.addresses import find_addresses
from rehearsal.retail.facts import is_about_the_store, look_up
from rehearsal.retail.identity import identify
from rehearsal.retail.moves import move, pay
from rehearsal.retail.orders import Talk, order_ids
from rehearsal.retail.returns import cancel, give_back, undo
from rehearsal.retail.state import HANDOVER, Ask, Call, Deed, Need, Refused, State, Vague
from rehearsal.retail.swaps import exchange
from rehearsal.retail.wishes import Wish, read_wishes
from rehearsal.retail.writes import Write

BEYOND_US = ("human", "outside")
BEYOND = "that is beyond what I can do here."
RESOLVERS: dict[str, Callable[[Talk, Wish], Sequence[Write]]] = {
    "cancel": cancel,
    "return": give_back,
    "undo": undo,
    "exchange": exchange,
    "payment": pay,
    "address": move,
}
ORDER = (
    "modify_user_address",
    "modify_pending_order_address",
    "modify_pending_order_payment",
)  # before items are modified


@dataclass
class Outcome:
    """One wish and what it comes to."""

    wish: Wish
    writes: list[Write] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    refused: str = ""
    question: str = ""
    vague: bool = False
    reads: tuple[Call, ...] = ()
    leaf: bool = False

    @property
    def open(self) -> bool:
        return bool(self.reads or self.question)


@dataclass(frozen=True)
class Overview:
    outcomes: tuple[Outcome, ...]
    writes: tuple[Write, ...]  # of all wishes, as calls: those for one order are one call where they must be
    state: State

    @property
    def question(self) -> str:
        """The first that is open."""
        return next((outcome.question for outcome in self.outcomes if outcome.question), "")

    @property
    def due(self) -> list[Write]:
        """Writes that were not planned before, whatever became of them."""
        return [write for write in self.writes if self.state.standing(write) is None]


def survey(state: State) -> Overview:
    """Resolve every wish with what is known. Deterministic: the same prompt gives the same survey."""
    wishes = _wishes(state)
    talk = Talk(state, wishes)
    outcomes: list[Outcome] = []
    for wish in wishes:
        if wish.otherwise and outcomes and not _failed(state, outcomes):
            continue
        outcome = _resolve(talk, wish, alone=len(wishes) == 1)
        if not (wish.soft and (outcome.refused or outcome.vague)):
            outcomes.append(outcome)
    outcomes = _without_doubles(outcomes)
    return Overview(tuple(outcomes), tuple(_merged(outcomes)), state)


def _wishes(state: State) -> list[Wish]:
    """Of the request, of what was said since, and of the answer to what is wanted at all."""
    wishes = [wish for wish in read_wishes(state.request) if wish.kind != "lookup" or is_about_the_store(wish)]
    wishes += _unspoken(state.request, wishes)
    if any(wish.kind == "lookup" for wish in wishes):  # `maybe I should cancel: what would I get back?`
        wishes = [wish for wish in wishes if wish.kind == "lookup" or not _PERHAPS.search(wish.text)]
    for said in state.feedback.splitlines():
        wishes = _told_since(wishes, said)
    for question, answer in state.said:
        wishes += read_wishes(answer) if question.startswith(WHAT) else ()
    if not wishes and order_ids(state.request):
        return [Wish("exchange", state.request, soft=True)]  # no verb at all, as in `#W1. Mug: black.`
    return wishes


_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_UNTOUCHED = re.compile(
    r"\b(?:not|never|without|leave) (?:\w+ ){0,2}(?:profile|account)\b|\b(?:profile|account) (?:is |stays )?unchanged\b"
    r"|\bnot affected\b[^\n]*",
    re.IGNORECASE,
)
_PERHAPS = re.compile(
    r"\b(?:maybe|perhaps) (?:i|we|you) (?:should|could|might|will)\b|\b(?:i|we|you) might\b|\bshould i\b"
    r"|\b(?:am|are|was|were) (?:\w+ )?(?:thinking|considering)\b|\bnot sure (?:if|whether)\b",
    re.IGNORECASE,
)
_SENT = re.compile(
    r"\b(?:deliver\w*|ship\w*|send|sent|go there|address|profile|my new|i moved|living)\b", re.IGNORECASE
)


def _unspoken(request: str, wishes: Sequence[Wish]) -> list[Wish]:
    """What is wanted without a verb that says so: a new address, or an answer to a bare question."""
    kinds = {wish.kind for wish in wishes if not wish.soft}
    if find_addresses(request) and "address" not in kinds and _SENT.search(request) and not kinds - {"exchange"}:
        return [Wish("address", _UNTOUCHED.sub(" ", request))]
    if not wishes:
        asked = (Wish("lookup", one) for one in _SENTENCE.split(request) if one.strip().endswith("?"))
        return [wish for wish in asked if is_about_the_store(wish)][:1]
    return []


def _told_since(wishes: list[Wish], said: str) -> list[Wish]:
    """Later words replace the last wish of their kind, or tell more about the last one."""
    fresh = read_wishes(said)
    if not fresh and wishes and wishes[-1].kind not in BEYOND_US:
        return [*wishes[:-1], replace(wishes[-1], text=f"{said} {wishes[-1].text}")]
    for wish in fresh:
        at = max((at for at, old in enumerate(wishes) if old.kind == wish.kind), default=None)
        old = wishes.pop(at) if at is not None else None
        wishes.append(replace(wish, before=f"{old.before} {old.text} {wish.before}") if old else wish)
    return wishes


WHAT = "What can I do for you"


def _failed(state: State, outcomes: list[Outcome]) -> bool:
    """Whether what comes before an `otherwise` cannot be had."""
    last = outcomes[-1]
    if last.open:
        return False
    tried = [state.by_key.get(write.key) for write in last.writes]
    return bool(last.refused) or any(deed is not None and deed.refused for deed in tried)


def _resolve(talk: Talk, wish: Wish, *, alone: bool) -> Outcome:
    outcome = Outcome(wish)
    try:
        identify(talk.state)
        if wish.kind == "lookup":
            outcome.facts = look_up(talk, wish)
        elif wish.kind in BEYOND_US:
            outcome.refused = BEYOND
            if alone or wish.kind == "human":
                outcome.writes = [_handover(talk.state, wish)]
        else:
            outcome.writes = list(RESOLVERS[wish.kind](talk, wish))
    except Need as need:
        outcome.reads, outcome.leaf = need.calls, need.leaf and wish.kind == "lookup"
    except Ask as question:
        outcome.question, outcome.vague = str(question), isinstance(question, Vague)
    except Refused as why:
        outcome.refused = str(why)
    return outcome


def _handover(state: State, wish: Wish) -> Write:
    """Once for a request: what was said since then does not make it another call."""
    summary = re.sub(r"\s+", " ", f"{wish.before} {wish.own}").strip()[:500]
    arguments = state.handed_over.arguments if state.handed_over else {"summary": summary}
    return Write(HANDOVER, arguments, "Hand over to a person", "I have handed you over to a colleague.")


def _without_doubles(outcomes: list[Outcome]) -> list[Outcome]:
    """The same call for two wishes is one; a call that takes in another's items replaces it."""
    seen: set[str] = set()
    for outcome in outcomes:
        outcome.writes = [write for write in outcome.writes if not (write.key in seen or seen.add(write.key))]  # type: ignore[func-returns-value]
    return outcomes


def _merged(outcomes: Sequence[Outcome]) -> list[Write]:
    """One call for all items of an order; items of a pending order come last, because nothing can follow that."""
    merged: dict[str, Write] = {}
    for write in (write for outcome in outcomes for write in outcome.writes):
        many = "item_ids" in write.arguments
        key = f"{write.tool} {write.arguments['order_id']}" if many else write.key
        merged[key] = _joined(merged[key], write) if many and key in merged else write
    clash: dict[str, str] = {}
    kept = []
    for write in merged.values():
        if write.tool in ("return_delivered_order_items", "exchange_delivered_order_items"):
            first = clash.setdefault(str(write.arguments["order_id"]), write.tool)
            if first != write.tool:
                _clashes(outcomes, write)
                continue
        kept.append(write)
    return sorted(kept, key=lambda write: (write.tool == HANDOVER, write.tool not in ORDER))


def _clashes(outcomes: Sequence[Outcome], write: Write) -> None:
    for outcome in outcomes:
        if any(
            one.tool == write.tool and one.arguments["order_id"] == write.arguments["order_id"]
            for one in outcome.writes
        ):
            outcome.writes = []
            outcome.refused = (
                f"order {write.arguments['order_id']} can either be returned from or exchanged from, once."
            )


def _joined(one: Write, other: Write) -> Write:
    arguments = dict(one.arguments)
    fresh = [at for at, item in enumerate(other.arguments["item_ids"]) if item not in one.arguments["item_ids"]]
    if not fresh:
        return one
    for name in ("item_ids", "new_item_ids"):
        if name in arguments:
            arguments[name] = [*one.arguments[name], *(other.arguments[name][at] for at in fresh)]
    return replace(one, arguments=arguments, text=f"{one.text}; {other.text}", told=f"{one.told} {other.told}")


def deed_of(state: State, write: Write) -> Deed | None:
    """What became of this write, also as a part of a call for more items of the order."""
    if (deed := state.by_key.get(write.key)) is not None or "item_ids" not in write.arguments:
        return deed
    for deed in state.deeds:
        same = deed.tool == write.tool and deed.arguments.get("order_id") == write.arguments["order_id"]
        if same and set(write.arguments["item_ids"]) <= set(deed.arguments.get("item_ids") or ()):
            return deed
    return None
