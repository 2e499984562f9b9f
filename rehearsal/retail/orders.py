"""Which orders a wish is about."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from rehearsal.retail.identity import customer, identify
from rehearsal.retail.items import Held, mentions, narrow
from rehearsal.retail.state import Document, Refused, State, together
from rehearsal.retail.wishes import Wish
from rehearsal.retail.words import listing

_ID = re.compile(r"(?<![\w_@.-])#?[wW]?(\d{7})(?![\w@-])")
_SUFFIX = re.compile(
    r"\b(?:order|number|one)\b(?:(?!card)[^.;,]){0,30}?\b(?:end(?:s|ing)? (?:in|with|on)|last (?:digits"
    r"|numbers) (?:are|being)?)\s*#?(\d{2,6})\b",
    re.IGNORECASE,
)
MANY = re.compile(
    r"\bwhatever\b[^.;]{0,20}\bpending\b"
    r"|\b(?:everything|all) (?:that is |which is )?(?:still |now )?pending\b|\b(?:all|both|every|each|any"
    r"|two)\b(?: \w+){0,4} orders?\b|\b(?:my|your|the|these|those) (?:\w+ ){0,2}orders\b",
    re.IGNORECASE,
)
THIS = re.compile(
    r"\b(?:it|them|this|that|these|those|the (?:item|items|order|one|product|thing|same order))\b", re.IGNORECASE
)
STATUS_WORDS = {
    "pending": r"\bpending\b|\bnot (?:yet )?shipped\b|\bopen orders?\b|\bunshipped\b",
    "delivered": r"\bdelivered\b|\breceived\b|\barrived\b",
    "processed": r"\bprocessed\b|\bin transit\b",
    "cancelled": r"\bcancelled\b|\bcanceled\b",
}


def order_ids(text: str) -> list[str]:
    """Every order id once, in the store's spelling."""
    return list(dict.fromkeys(f"#W{match[1]}" for match in _ID.finditer(text)))


@dataclass
class Talk:
    """All that was said, wish by wish; `orders`: what the wishes so far were found to be about."""

    state: State
    wishes: Sequence[Wish] = ()
    orders: list[str] = field(default_factory=list)
    paid: dict[str, str] = field(default_factory=dict)  # orders that will be paid with another method

    @property
    def everything(self) -> str:
        return f"{self.state.request}\n{self.state.feedback}"

    def remember(self, order_ids: Sequence[str]) -> None:
        self.orders = [*(one for one in self.orders if one not in order_ids), *order_ids]

    def orders_of(self, ids: Sequence[str]) -> list[Document]:
        """The customer's own orders of these ids. Raises Need, Ask, Refused."""
        identify(self.state)
        reads: list[Callable[[], Document | None]] = [partial(customer, self.state, leaf=bool(ids))]
        reads += [partial(self.state.order, one, leaf=True) for one in ids]
        user, *orders = together(reads)
        found = []
        for order_id, order in zip(ids, orders, strict=True):
            if order is None:
                raise Refused(f"there is no order {order_id}.")
            if user is None or order.get("user_id") != user["user_id"]:
                raise Refused(f"order {order_id} is not one of your own, so I may not touch it or tell about it.")
            found.append(order)
        return found

    def all_orders(self) -> list[Document]:
        """All orders of the customer."""
        return self.orders_of([str(one) for one in customer(self.state).get("orders", [])])


def said_status(text: str) -> list[str]:
    return [status for status, pattern in STATUS_WORDS.items() if re.search(pattern, text.lower())]


def named_ids(talk: Talk, wish: Wish) -> list[str]:
    """Order ids that the wish's own words name, also by their last digits."""
    ids = order_ids(wish.text) or order_ids(wish.detail)
    if not ids and (suffix := _SUFFIX.search(f"{wish.own} {wish.before}")):
        ids = [one for one in customer(talk.state).get("orders", []) if str(one).endswith(suffix[1])]
    return ids


def find_orders(talk: Talk, wish: Wish, statuses: Sequence[str], verb: str) -> list[Document]:
    """The orders that a wish about whole orders means. Raises Need, Ask, Refused."""
    if ids := named_ids(talk, wish):
        return talk.orders_of(ids)
    held = held_in(talk.all_orders())
    if not held:
        raise Refused("there is no order on your account.")
    many = MANY.search(wish.text)
    if many and not re.search(r"\bone of\b|\bof (?:my|your|the|those)\b.*\bone\b|\bthe one\b", wish.text.lower()):
        said = said_status(wish.text)
        wanted = [status for status in said if status in statuses] or said or list(statuses)
        found = [order for order in talk.all_orders() if order["status"] in wanted]
        if not found:
            raise Refused(f"none of your orders is {listing(wanted, 'or')}.")
        return found
    for text in (wish.text, wish.own, wish.before, wish.last):
        if found := holding(talk, text, held, statuses):
            return one_of(talk, found, verb, statuses)
    ids = (order_ids(wish.before) or talk.orders[-1:]) if THIS.search(wish.text) else []
    ids = ids or (order_ids(talk.everything) if len(order_ids(talk.everything)) == 1 else [])
    return talk.orders_of(ids) if ids else one_of(talk, talk.all_orders(), verb, statuses)


def holding(talk: Talk, text: str, held: list[Held], statuses: Sequence[str]) -> list[Document]:
    """The orders that hold all the things that the text names; else those that hold any."""
    names = {mention.name for mention in mentions(text, [one.item["name"] for one in held])}
    if not names:
        return []
    named = [one for one in held if one.item["name"] in names]
    close = narrow(text, named)
    orders = [one for one in talk.all_orders() if one["order_id"] in {one.order_id for one in close}]
    count = {order["order_id"]: len(names & {item["name"] for item in order["items"]}) for order in orders}
    fitting = [one for one in orders if count[one["order_id"]] and one["status"] in statuses] or orders
    best = max(count[one["order_id"]] for one in fitting)
    return [one for one in fitting if count[one["order_id"]] == best > 0]


def one_of(talk: Talk, found: list[Document], verb: str, statuses: Sequence[str]) -> list[Document]:
    """The only one that comes into question; else the customer is asked."""
    fitting = [order for order in found if order["status"] in statuses] or found
    if len(fitting) == 1:
        return fitting
    shown = "; ".join(f"{order['order_id']} ({order['status']}): {_contents(order)}" for order in fitting)
    answer = talk.state.ask(f"Which order would you like to {verb}? {shown}.", vague=True)
    ids = order_ids(answer)
    known = {order["order_id"] for order in fitting}
    if not ids and (suffix := _SUFFIX.search(answer)):
        ids = [one for one in known if one.endswith(suffix[1])]
    if ids:
        return talk.orders_of(ids)
    if re.search(r"\b(?:all|both|every)\b", answer.lower()):
        return fitting
    named = holding(talk, answer, held_in(fitting), statuses)
    named = [order for order in named if order["order_id"] in known]
    if len(named) == 1:
        return named
    raise Refused(
        f"it is not clear which order you would like to {verb}: {', '.join(sorted(known))} come into question."
    )


def _contents(order: Document) -> str:
    return listing([item["name"].lower() for item in order["items"]])


def held_in(orders: Sequence[Document]) -> list[Held]:
    return [Held(order["order_id"], item) for order in orders for item in order["items"]]
