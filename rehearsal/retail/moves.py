"""Wishes about an order's payment, and about addresses. Raises Need, Ask, Refused."""

import re
from dataclasses import replace

from rehearsal.retail.addresses import LINES, Address, corrected, find_addresses
from rehearsal.retail.identity import customer
from rehearsal.retail.orders import Talk, find_orders, order_ids
from rehearsal.retail.payments import Payer, label
from rehearsal.retail.state import Document, Refused
from rehearsal.retail.wishes import Wish
from rehearsal.retail.words import money
from rehearsal.retail.writes import Write, needs, write

_PROFILE = re.compile(
    r"\b(?:profile|accounts?|default|on file|on record|records|user address|personal data|customer data)\b",
    re.IGNORECASE,
)
_HOME = re.compile(
    r"\b(?:my|your|the|our)?\s*(?:home|default|profile|account|usual|normal|own|registered|main"
    r"|saved) ?(?:address)?\b|\baddress (?:in|on|of|from) (?:my|your|the) (?:profile|account|file)",
    re.IGNORECASE,
)


def pay(talk: Talk, wish: Wish) -> list[Write]:
    orders = find_orders(talk, wish, ["pending"], "pay differently")
    return [_paid(talk, wish, order) for order in orders]


def _paid(talk: Talk, wish: Wish, order: Document) -> Write:
    order_id = order["order_id"]
    needs(order, "pending", "paid differently")
    methods = customer(talk.state)["payment_methods"]
    current, total = order["payment_history"][0]["payment_method_id"], order["payment_history"][0]["amount"]
    others = [one for one in methods if one != current]
    if not others:
        raise Refused(f"order {order_id} is paid with the only payment method on your account.")
    payer = Payer(talk.state, methods, current, f"Which payment method shall order {order_id} be paid with?")
    chosen = payer.other([wish.text, wish.detail, wish.before])
    chosen = chosen or (others[0] if len(others) == 1 else payer.ask(others))
    if chosen == current:
        raise Refused(f"order {order_id} is paid with {label(methods, current)} already.")
    if methods[chosen]["source"] == "gift_card" and methods[chosen]["balance"] < total:
        raise Refused(f"{label(methods, chosen)} does not cover the {money(total)} of order {order_id}.")
    talk.remember([order_id])
    talk.paid[order_id] = chosen
    old, new = label(methods, current), label(methods, chosen)
    told = f"Order {order_id} ({money(total)}) is now paid with {new} instead of {old}."
    return write(
        "modify_pending_order_payment",
        f"Pay order {order_id} with {label(methods, chosen)}",
        told,
        order_id=order_id,
        payment_method_id=chosen,
    )


def move(talk: Talk, wish: Wish) -> list[Write]:
    """New addresses, of orders, of the customer's account, or of both."""
    text, user = wish.text, customer(talk.state)
    if not (order_ids(text) or re.search(r"\borders?\b", text.lower()) or _PROFILE.search(text)):
        text = f"{wish.last} {wish.before} {text}"  # what it is about was said before
    of_order = bool(
        order_ids(text)
        or re.search(
            r"\borders?\b|\bship\w*|\bdeliver\w*|\bsen[dt]\b|\bparcel\b|\bpackage\b|\bcome\b|\bgo\b", text.lower()
        )
    )
    complete = find_addresses(wish.own) or find_addresses(wish.before) or find_addresses(talk.everything)
    of_account = (bool(_PROFILE.search(text)) and (bool(complete) or not of_order)) or not of_order
    if (
        complete
        and _HOME.search(text)
        and re.search(r"\b(?:to|at) (?:my|your|the) (?:home|default|profile|account)", text.lower())
    ):
        of_account = False
    writes = []
    if of_order and not (
        _PROFILE.search(text) and not order_ids(text) and not re.search(r"\borders?\b", text.lower()) and complete
    ):
        writes += _orders_moved(talk, replace(wish, text=text), user, complete[-1][0] if complete else None)
    if of_account:
        address = complete[-1][0] if complete else _mended(talk, wish, user["address"], "your account")
        writes.append(_user_moved(user, address))
    return writes


def _orders_moved(talk: Talk, wish: Wish, user: Document, said: Address | None) -> list[Write]:
    orders = find_orders(talk, _without_source(wish), ["pending"], "send elsewhere")
    writes = []
    for order in orders:
        needs(order, "pending", "sent elsewhere")
        source = [one for one in order_ids(wish.own) if one != order["order_id"]]
        if said is None and source and re.search(r"\bsame\b|\bas (?:in|on|for)\b", wish.own.lower()):
            address = _plain(talk.orders_of(source[-1:])[0]["address"])
        elif said is None and _HOME.search(wish.own):
            address = _plain(user["address"])
        else:
            address = said or _mended(talk, wish, order["address"], f"order {order['order_id']}")
        address = {**address, "country": address["country"] or order["address"].get("country", "USA")}
        talk.remember([order["order_id"]])
        told = f"Order {order['order_id']} will be sent to {_line(address)}."
        writes.append(
            write(
                "modify_pending_order_address",
                f"Send order {order['order_id']} to {_line(address)}",
                told,
                order_id=order["order_id"],
                **address,
            )
        )
    return writes


def _without_source(wish: Wish) -> Wish:
    """The wish without the order whose address shall be taken: `same as #W1`."""
    text = re.sub(
        r"\b(?:same|as) (?:address )?(?:as |in |on |for |of )?(?:my |the |order )*#?W?\d{7}",
        " ",
        wish.text,
        flags=re.IGNORECASE,
    )
    return Wish(wish.kind, text, wish.detail, wish.before, wish.otherwise, wish.soft, wish.revised)


def _user_moved(user: Document, address: Address) -> Write:
    address = {**address, "country": address["country"] or user["address"].get("country", "USA")}
    told = f"The address in your account is now {_line(address)}."
    return write(
        "modify_user_address",
        f"Change the address of the account to {_line(address)}",
        told,
        user_id=user["user_id"],
        **address,
    )


def _mended(talk: Talk, wish: Wish, current: Document, whose: str) -> Address:
    """The parts that were said, over the current address; else the customer is asked for all of it."""
    for text in (wish.own, f"{wish.before} {wish.own}"):
        if parts := corrected(text, current):
            return parts
    answer = talk.state.ask(
        f"What is the new address for {whose}? Please give street, apartment, city, state and zip code."
    )
    found = find_addresses(answer)
    if found:
        return found[-1][0]
    if parts := corrected(answer, current):
        return parts
    raise Refused(f"I do not have a complete new address for {whose}.")


def _plain(address: Document) -> Address:
    return {line: str(address.get(line, "")) for line in LINES}


def _line(address: Address) -> str:
    street = ", ".join(part for part in (address["address1"], address["address2"]) if part)
    return f"{street}, {address['city']}, {address['state']} {address['zip']}"
