"""The calls that carry out a request. All functions raise Need, Ask or NotPossible; what is not certain is asked."""

import re
from collections.abc import Callable, Sequence
from functools import partial

from rehearsal.retail.addresses import LINES, Address, find_addresses, one_line
from rehearsal.retail.identity import customer
from rehearsal.retail.items import OrderItem, axes_of, called, described, fits, mentions, named_options
from rehearsal.retail.orders import find_items, find_orders, names_of
from rehearsal.retail.payments import Methods, choose, label, mentioned_methods
from rehearsal.retail.requests import Request
from rehearsal.retail.state import HANDOVER, Call, Document, NotPossible, State, together
from rehearsal.retail.words import listing, money

MISTAKE, NO_NEED = "ordered by mistake", "no longer needed"
_REASONS = {
    MISTAKE: r"\bmistake\b|\baccident\w*|\bwrong(?:ly)?\b|\bnot mean\b|\bnever meant\b|\bmis-?click\w*|\btwice\b",
    NO_NEED: r"\bno longer\b|\bnot (?:really )?(?:need|want)\w*\b|\bno need\b|\bcheaper\b|\bchanged? (?:my|your) mind\b"
    r"|\balready (?:have|bought)\b|\btoo (?:late|long|expensive)\b|\bcan not afford\b",
}
_HOME = re.compile(r"(?i)\b(?:home|default|own|profile|account)\b")
_CHEAPEST = re.compile(r"(?i)\bcheapest\b")


def cancel(state: State, request: Request) -> list[Call]:
    """One call for each order, which is cancelled as a whole."""
    calls = []
    for order in find_orders(state, request, "pending", "cancel"):
        order_id, methods = order["order_id"], customer(state)["payment_methods"]
        _must_be(order, "pending", "cancelled")
        if _names_a_part(request.text, order):
            raise NotPossible(f"single items of order {order_id} cannot be cancelled, only the order as a whole.")
        reason = _reason(state, request)
        paid = order["payment_history"][0]
        back = f"{money(paid['amount'])} goes back to {label(methods, paid['payment_method_id'])}"
        done = f"Order {order_id} ({names_of(order)}) is cancelled ({reason}); {back}."
        arguments = {"order_id": order_id, "reason": reason}
        calls.append(Call("cancel_pending_order", arguments, f"Cancel order {order_id}", done))
    return calls


def _names_a_part(text: str, order: Document) -> bool:
    """Whether the text names only some of the order's items, and not in order to say which order is meant."""
    spots = mentions(text, [item["name"] for item in order["items"]])
    telling = re.search(r"(?i)\b(?:order|one) (?:with|containing|that has|including)\b|\border it\b", text) or any(
        re.match(r"(?i) order\b", text[spot.end :]) for spot in spots
    )
    return bool(spots) and not telling and len(spots) < len(order["items"])


def _reason(state: State, request: Request) -> str:
    for text in (request.text, request.rest):
        if found := [reason for reason, pattern in _REASONS.items() if re.search(pattern, text.lower())]:
            return found[0]
    answer = state.ask("Why would you like to cancel: no longer needed, or ordered by mistake?", [NO_NEED, MISTAKE])
    return MISTAKE if re.search(_REASONS[MISTAKE], answer.lower()) else NO_NEED


def give_back(state: State, request: Request) -> list[Call]:
    """One return for each order."""
    return [_returned(state, request, some) for some in _by_order(find_items(state, request, ["delivered"], "return"))]


def _by_order[T](items: Sequence[tuple[OrderItem, T]]) -> list[list[tuple[OrderItem, T]]]:
    ids = dict.fromkeys(one.order["order_id"] for one, _ in items)
    return [[one for one in items if one[0].order["order_id"] == order_id] for order_id in ids]


def _returned(state: State, request: Request, items: Sequence[tuple[OrderItem, str]]) -> Call:
    order, methods = items[0][0].order, customer(state)["payment_methods"]
    order_id, paid = order["order_id"], order["payment_history"][0]["payment_method_id"]
    _must_be(order, "delivered", "returned")
    able = [one for one in methods if one == paid or methods[one]["source"] == "gift_card"]
    question = f"Where shall the refund for order {order_id} go?"
    method = choose(state, methods, _mentioned(state, request, methods, paid), able or [paid], question)
    if method not in able and method != paid:
        raise NotPossible(
            f"the refund can go to {label(methods, paid)} or to a gift card, not to {label(methods, method)}."
        )
    things = listing([f"{called(one.item)} for {money(one.item['price'])}" for one, _ in items])
    back = f"{money(sum(one.item['price'] for one, _ in items))} will be refunded to {label(methods, method)}"
    return Call(
        "return_delivered_order_items",
        {"order_id": order_id, "item_ids": [one.item["item_id"] for one, _ in items], "payment_method_id": method},
        f"Return {listing([one.name.lower() for one, _ in items])} of order {order_id}",
        f"The return of {things} from order {order_id} is requested; {back}.",
    )


def _mentioned(state: State, request: Request, methods: Methods, paid: str = "") -> list[str] | None:
    """The payment methods that the request mentions, else those in the whole message; None if there are none."""
    texts = (request.text, request.rest, "\n".join((state.message, *state.feedback)))
    return next((found for text in texts if (found := mentioned_methods(text, methods, paid)) is not None), None)


def exchange(state: State, request: Request) -> list[Call]:
    """Other variants of items: one call for each order, which is pending or delivered."""
    items = find_items(state, request, ["pending", "delivered"], "exchange")
    reads = [partial(state.look, "get_product_details", one.item["product_id"]) for one, _ in items]
    calls = []
    products = {product["product_id"]: product for product in together(reads) if product}
    if missing := [one.name for one, _ in items if one.item["product_id"] not in products]:
        raise NotPossible(f"the store does not tell which variants there are of {', '.join(missing)}.")
    for some in _by_order(items):
        swaps = [
            (one, _variant(state, one, request.words if len(items) == 1 else words, products[one.item["product_id"]]))
            for one, words in some
        ]
        calls.append(_exchanged(state, request, some[0][0].order, swaps))
    return calls


def _variant(state: State, old: OrderItem, words: str, product: Document) -> Document:
    """The available variant that has the options that were named, and is like the item in all others."""
    item, name = old.item, old.name.lower()
    there = [one for one in product.get("variants", {}).values() if one["available"]]
    there = [one for one in there if one["item_id"] != item["item_id"]]
    options = [f"{described(one['options'])} at {money(one['price'])}" for one in there]
    question = f"Which {name} would you like instead of the one with {described(item['options'])}?"
    if found := _like(state.answer(question) or re.sub(r"\([^)]*\)", " ", words), item, product, there):
        return found
    state.ask(question, options)
    raise NotPossible(f"there is no {name} in stock that is as you say; available: {'; '.join(options)}.")


def _like(words: str, item: Document, product: Document, there: Sequence[Document]) -> Document | None:
    """The one variant that differs from the item in what the words name, and in nothing else."""
    if _CHEAPEST.search(words) and there:
        return min(there, key=lambda one: float(one["price"]))
    named = named_options(words, axes_of(one["options"] for one in product["variants"].values()))
    wanted = {axis: values - {item["options"].get(axis, "")} for axis, values in named.items()}
    wanted = {axis: values for axis, values in wanted.items() if values}
    if not wanted or any(len(values) > 1 for values in wanted.values()):
        return None
    stays = {axis: {value} for axis, value in item["options"].items() if axis not in wanted}
    found = [one for one in there if fits(one["options"], wanted | stays)]
    return found[0] if len(found) == 1 else None


def _exchanged(state: State, request: Request, order: Document, swaps: Sequence[tuple[OrderItem, Document]]) -> Call:
    order_id, methods = order["order_id"], customer(state)["payment_methods"]
    if order["status"] not in ("pending", "delivered"):
        raise NotPossible(
            f"order {order_id} is {order['status']}, and only pending and delivered orders can be changed."
        )
    difference = round(sum(new["price"] - old.item["price"] for old, new in swaps), 2)
    able = [one for one in methods if methods[one].get("balance", difference) >= difference]
    said = _mentioned(state, request, methods, order["payment_history"][0]["payment_method_id"])
    question = f"Which payment method shall be used for the difference of {money(abs(difference))} in order {order_id}?"
    method = choose(state, methods, said, able, question)
    if method not in able and method in methods:
        raise NotPossible(f"{label(methods, method)} does not cover the difference of {money(difference)}.")
    pending = order["status"] == "pending"
    what = listing([f"{called(old.item)} for {described(new['options'])}" for old, new in swaps])
    paid = f"{money(abs(difference))} is {'charged' if difference > 0 else 'refunded'} to {label(methods, method)}"
    return Call(
        "modify_pending_order_items" if pending else "exchange_delivered_order_items",
        {
            "order_id": order_id,
            "item_ids": [old.item["item_id"] for old, _ in swaps],
            "new_item_ids": [new["item_id"] for _, new in swaps],
            "payment_method_id": method,
        },
        f"{'Change' if pending else 'Exchange'} in order {order_id}: {what}",
        f"Order {order_id} {'is modified' if pending else 'has an exchange requested'}: {what}; {paid}.",
    )


def pay(state: State, request: Request) -> list[Call]:
    calls = []
    for order in find_orders(state, request, "pending", "pay differently"):
        order_id, methods, paid = order["order_id"], customer(state)["payment_methods"], order["payment_history"][0]
        _must_be(order, "pending", "paid differently")
        others = [one for one in methods if one != paid["payment_method_id"]]
        if not others:
            raise NotPossible(f"order {order_id} is paid with the only payment method on your account.")
        said = [one for one in _mentioned(state, request, methods) or () if one in others]
        method = choose(state, methods, said or None, others, f"Which method shall order {order_id} be paid with?")
        if method not in others:
            raise NotPossible(f"order {order_id} is paid with {label(methods, method)} already.")
        if methods[method].get("balance", paid["amount"]) < paid["amount"]:
            raise NotPossible(
                f"{label(methods, method)} does not cover the {money(paid['amount'])} of order {order_id}."
            )
        text = f"Pay order {order_id} with {label(methods, method)}"
        done = f"Order {order_id} ({money(paid['amount'])}) is now paid with {label(methods, method)}."
        arguments = {"order_id": order_id, "payment_method_id": method}
        calls.append(Call("modify_pending_order_payment", arguments, text, done))
    return calls


def move(state: State, request: Request) -> list[Call]:
    """A new address for orders, or for the customer's account."""
    said = find_addresses(request.text) or find_addresses(request.rest) or find_addresses(state.message)
    if request.about_account and not request.order_ids and (said or not re.search(r"(?i)\border\b", request.text)):
        user_id = customer(state)["user_id"]
        address = said[0][0] if said else _asked(state, "your account")
        text, done = f"Change the address of the account to {one_line(address)}", "The address in your account is now"
        return [Call("modify_user_address", {"user_id": user_id, **address}, text, f"{done} {one_line(address)}.")]
    calls = []
    for order in find_orders(state, request, "pending", "send elsewhere"):
        order_id, user = order["order_id"], customer(state)
        _must_be(order, "pending", "sent elsewhere")
        home = {line: str(user["address"].get(line, "")) for line in LINES} if _HOME.search(request.text) else None
        address = said[0][0] if said else home or _asked(state, f"order {order_id}")
        text, done = f"Send order {order_id} to {one_line(address)}", f"Order {order_id} will be sent to"
        arguments = {"order_id": order_id, **address}
        calls.append(Call("modify_pending_order_address", arguments, text, f"{done} {one_line(address)}."))
    return calls


def _asked(state: State, whose: str) -> Address:
    answer = state.ask(f"What is the new address for {whose}? Please give street, apartment, city, state and zip code.")
    if not (found := find_addresses(answer)):
        raise NotPossible(f"I do not have a complete new address for {whose}.")
    return found[0][0]


def hand_over(state: State, request: Request) -> list[Call]:
    """One call for a request, with the same summary whatever is said afterwards."""
    earlier = [past.arguments for past in state.past_calls if past.tool == HANDOVER]
    arguments = earlier[0] if earlier else {"summary": " ".join(request.words.split())[:500]}
    return [Call(HANDOVER, arguments, "Hand over to a person", "I have handed you over to a colleague.")]


def _must_be(order: Document, status: str, done: str) -> None:
    if order["status"] != status:
        raise NotPossible(f"order {order['order_id']} is {order['status']}, and only {status} orders can be {done}.")


WRITES: dict[str, Callable[[State, Request], list[Call]]] = {
    "cancel": cancel,
    "return": give_back,
    "exchange": exchange,
    "payment": pay,
    "address": move,
    "human": hand_over,
}
