"""Wishes to be rid of things: cancel, return, or money back in whatever way there is. Raises Need, Ask, Refused."""

import re

from rehearsal.retail.identity import customer
from rehearsal.retail.items import Held, called, mentions
from rehearsal.retail.kept import without_kept
from rehearsal.retail.orders import Talk, find_orders
from rehearsal.retail.payments import ELSEWHERE, Payer, common, label
from rehearsal.retail.state import Document, Refused
from rehearsal.retail.things import Search, find_items
from rehearsal.retail.wishes import Wish
from rehearsal.retail.words import listing, money
from rehearsal.retail.writes import Write, names, needs, write

MISTAKE, NO_NEED = "ordered by mistake", "no longer needed"
_MISTAKE = re.compile(
    r"\bmistak\w*|\baccident\w*|\bwrong(?:ly)?\b|\b(?:by|in) error\b|\bnot (?:mean|meant)\b|\bunintention\w*"
    r"|\binadvertent\w*|\bmis-?click\w*"
    r"|\boops\b|\bby chance\b|\bduplicate\b|\btwice\b|\bnot supposed to\b|\bnever (?:meant|wanted|intended)\b"
    r"|\bunwitting\w*|\bslip(?:ped)?\b|\bpocket\b|\bnot intend\w*",
    re.IGNORECASE,
)
_NO_NEED = re.compile(
    r"\bno longer\b|\bnot (?:really |actually |simply )?(?:need|want|require|receive|going)\b"
    r"|\bnot (?:\w+ )?needed\b|\bno need\b|\bany ?more\b"
    r"|\bany longer\b|\bcheaper\b|\bchang\w+ (?:my|your) mind\b|\bbetter\b|\belsewhere\b"
    r"|\banother (?:store|shop|one)\b|\btoo (?:late|long|expensive|slow|much)\b|\btravel\w*|\bmov(?:ed|ing)\b"
    r"|\balready (?:have|got|own|bought)\b|\bbecause\b|\bsince\b|\bneedless\b"
    r"|\brefund\b|\bregret\w*|\bafford\b|\bhalf the price\b|\bgot (?:one|it)\b|\bgift\b|\bfound\b|\bwithout (?:it"
    r"|them)\b|\bbought\b|\bdecided\b|\binstead\b|\bnot (?:\w+ )?any use\b|\bunneeded\b",
    re.IGNORECASE,
)


def cancel(talk: Talk, wish: Wish) -> list[Write]:
    orders = find_orders(talk, without_kept(wish), ["pending"], "cancel")
    return [_cancelled(talk, wish, order) for order in orders]


def _cancelled(talk: Talk, wish: Wish, order: Document) -> Write:
    order_id = order["order_id"]
    needs(order, "pending", "cancelled")
    if _one_item(wish.text, order):
        raise Refused(f"single items of order {order_id} cannot be cancelled, only the order as a whole.")
    talk.remember([order_id])
    methods = customer(talk.state)["payment_methods"]
    paid = [entry for entry in order["payment_history"] if entry["transaction_type"] == "payment"]
    back = listing([f"{money(one['amount'])} to {label(methods, one['payment_method_id'])}" for one in paid])
    when = "at once" if all("gift_card" in one["payment_method_id"] for one in paid) else "within 5 to 7 days"
    reason = _reason(talk, wish, order_id)
    told = f"Order {order_id} ({names(order)}) is cancelled ({reason}); {back} will be refunded {when}."
    return write("cancel_pending_order", f"Cancel order {order_id}", told, order_id=order_id, reason=reason)


def _one_item(text: str, order: Document) -> bool:
    """Whether only some items of the order shall be cancelled."""
    held = {item["name"] for item in order["items"]}
    spots = mentions(text, held)
    if not spots or len(held) <= len({spot.name for spot in spots}):
        return False
    inside = re.match(r"\s*(?:in|from|of|out of)\b", text[spots[-1].end :])
    bare = not re.search(r"\border\b|#w\d|\bpurchase\b|\bone (?:with|that)\b", text.lower())
    return bare or bool(inside) or bool(re.search(r"\b(?:just|only) the\b", text[: spots[0].start].lower()[-12:]))


def _reason(talk: Talk, wish: Wish, order_id: str) -> str:
    beside = [part for part in re.split(r"(?=#?\bW\d{7})", wish.own) if order_id.lstrip("#") in part]
    for text in (*beside, wish.own, wish.before, talk.everything):
        if _MISTAKE.search(text):
            return MISTAKE
        if _NO_NEED.search(text):
            return NO_NEED
    if wish.otherwise or wish.kind == "undo":
        return NO_NEED
    answer = talk.state.ask("Why would you like to cancel: is it no longer needed, or was it ordered by mistake?")
    return MISTAKE if _MISTAKE.search(answer) else NO_NEED


def give_back(talk: Talk, wish: Wish) -> list[Write]:
    """Returns, one call for each order."""
    clear = without_kept(wish)
    return _given_back(talk, wish, find_items(Search(talk, clear, clear.text, ["delivered"], "return")))


def _given_back(talk: Talk, wish: Wish, held: list[Held]) -> list[Write]:
    writes = []
    for order_id in dict.fromkeys(one.order_id for one in held):
        order = talk.orders_of([order_id])[0]
        needs(order, "delivered", "returned")
        writes.append(_returned(talk, wish, order, [one for one in held if one.order_id == order_id]))
    talk.remember([one.order_id for one in held])
    return writes


def _returned(talk: Talk, wish: Wish, order: Document, held: list[Held]) -> Write:
    methods = customer(talk.state)["payment_methods"]
    original = order["payment_history"][0]["payment_method_id"]
    allowed = [one for one in methods if one == original or methods[one]["source"] == "gift_card"]
    payer = Payer(talk.state, methods, original, f"Where shall the refund for order {order['order_id']} go?")
    if ELSEWHERE.search(wish.own):
        raise Refused("a refund can only go to the payment method that was used, or to a gift card of yours.")
    told = [wish.text, wish.detail, common(talk.everything, methods)]
    spoken = payer.meant(told)
    if spoken is None:
        spoken = payer.ask(allowed, original) if len(allowed) > 1 else original
    if spoken not in allowed and spoken != original:
        raise Refused(
            f"the refund for order {order['order_id']} can only go to {label(methods, original)}, which it was paid"
            f" with, or to a gift card of yours, not to {label(methods, spoken)}."
        )
    total = sum(one.item["price"] for one in held)
    things = listing([f"{called(one.item)} for {money(one.item['price'])}" for one in held])
    asked_for = f"The return of {things} from order {order['order_id']} is requested"
    what = listing([one.item["name"].lower() for one in held])
    return write(
        "return_delivered_order_items",
        f"Return {what} of order {order['order_id']}",
        f"{asked_for}; {money(total)} will be refunded to {label(methods, spoken)}.",
        order_id=order["order_id"],
        item_ids=[one.item["item_id"] for one in held],
        payment_method_id=spoken,
    )


def undo(talk: Talk, wish: Wish) -> list[Write]:
    """Money back, in whatever way the order's status allows."""
    if re.search(r"\b(?:order|one|purchase) (?:with|containing|that (?:has|contains))\b", wish.text.lower()):
        orders = find_orders(talk, wish, ["pending", "delivered"], "get refunded")
        if all(order["status"] == "pending" for order in orders):
            return [_cancelled(talk, wish, order) for order in orders]
    clear = without_kept(wish)
    held = find_items(Search(talk, clear, clear.text, ["delivered", "pending"], "get refunded"))
    orders = talk.orders_of(list(dict.fromkeys(one.order_id for one in held)))
    pending = [order for order in orders if order["status"] == "pending"]
    for order in pending:
        if len(order["items"]) > sum(one.order_id == order["order_id"] for one in held):
            raise Refused(
                f"order {order['order_id']} is pending: it can be cancelled as a whole, but single items cannot."
            )
    return [_cancelled(talk, wish, order) for order in pending] or _given_back(talk, wish, held)
