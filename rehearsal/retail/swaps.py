"""Wishes to have other variants of items, of pending and of delivered orders. Raises Need, Ask, Refused."""

import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from rehearsal.retail.identity import customer
from rehearsal.retail.items import Held, called, described, distinct, mentions, segments
from rehearsal.retail.orders import Talk, named_ids, order_ids
from rehearsal.retail.payments import Methods, Payer, common, label
from rehearsal.retail.state import Document, Refused, together
from rehearsal.retail.things import Search, find_items, of_order
from rehearsal.retail.variants import Target, choose, sides, target
from rehearsal.retail.wishes import Wish
from rehearsal.retail.words import listing, money
from rehearsal.retail.writes import Write, write

STATUSES = ["pending", "delivered"]


class Swap(NamedTuple):
    held: Held
    new: Document


def exchange(talk: Talk, wish: Wish) -> list[Write]:
    """One call for each order."""
    parts = [part for chunk in _chunks(talk, wish) for part in _swaps_of(talk, wish, chunk)]
    products = together([partial(_product, talk, held) for held, _, _ in parts])
    swaps = []
    for (held, new, more), product in zip(parts, products, strict=True):
        wanted = next((found for text in _told(wish, *new) if (found := target(text, more, held.item, product))), None)
        wanted = wanted or _wanted(talk, held, product)
        swaps.append(Swap(held, choose(talk.state, wanted, held.item, product)))
    writes = []
    for order_id in dict.fromkeys(swap.held.order_id for swap in swaps):
        order = talk.orders_of([order_id])[0]
        writes.append(_exchanged(talk, wish, order, [swap for swap in swaps if swap.held.order_id == order_id]))
    talk.remember([swap.held.order_id for swap in swaps])
    return writes


def _told(wish: Wish, new: str, rest: str) -> list[str]:
    """Where the new item may be described: in the wish's own words first; of what was said before the last first."""
    return [new, *re.split(r"(?<=[.!?])\s+", wish.detail), rest, *reversed(re.split(r"(?<=[.!?])\s+", wish.before))]


def _product(talk: Talk, held: Held) -> Document:
    product = talk.state.product(held.item["product_id"])
    if product is None:
        raise Refused(f"the {held.item['name'].lower()} could not be looked up.")
    return product


def _owned(talk: Talk, wish: Wish) -> list[str]:
    """What is in the orders that the wish names; in all where it names none."""
    ids = named_ids(talk, wish)
    orders = talk.orders_of(ids) if ids else talk.all_orders()
    return [item["name"] for order in orders for item in order["items"]]


def _chunks(talk: Talk, wish: Wish) -> list[str]:
    """The wish's words, cut where the next thing is named: `the mug for a black one and the tent for a green one`."""
    owned = _owned(talk, wish)
    spots = [spot for spot in mentions(wish.text, owned) if not of_order(wish.text, spot.start, spot.end)]
    places = spots[:1]
    for spot in spots[1:]:
        between = wish.text[places[-1].end : spot.start].lower()
        again = owned.count(spot.name) > 1 and re.search(
            r"\b(?:for|to|with)\b.*\b(?:and|plus) (?:the|my|your)\b", between
        )
        if spot.start != places[-1].start and (spot.name != places[-1].name or again):
            places.append(spot)
    return segments(wish.text, places) if places else [wish.text]


def _swaps_of(talk: Talk, wish: Wish, chunk: str) -> list[tuple[Held, tuple[str, str], str]]:
    """Items of one chunk, with the words about the new one and the words around it."""
    if chunk is not wish.text and not chunk.startswith(wish.text[:5]):
        chunk = f"exchange {chunk.lstrip(' ,;').removeprefix('and ').strip()}"
    old, new, rest = sides(chunk)
    ids = " ".join(order_ids(wish.text))
    where = "" if order_ids(chunk) else ids
    part = Wish(wish.kind, f"{chunk} {where}".strip(), wish.detail, f"{wish.before} {wish.text}")
    owned = _owned(talk, wish)
    where = old if mentions(old, owned) else chunk if mentions(chunk, owned) else f"{old} {wish.before}"
    held = find_items(Search(talk, part, where, STATUSES, "exchange"))
    if len(held) > 1 and len({one.item["item_id"] for one in held}) == 1:
        held = held if "both" in chunk.lower() else distinct(held)
    return [(one, (new, rest), wish.detail) for one in held]


def _wanted(talk: Talk, held: Held, product: Document) -> Target:
    there = [one for one in product["variants"].values() if one["available"] and one["item_id"] != held.item["item_id"]]
    shown = "; ".join(f"{described(one['options'])} at {money(one['price'])}" for one in there[:12])
    name = held.item["name"].lower()
    answer = talk.state.ask(
        f"What would you like instead of the {name} ({described(held.item['options'])})? Available: {shown}.",
        vague=True,
    )
    wanted = target(answer, "", held.item, product)
    if not wanted:
        raise Refused(f"I do not know which {name} you would like instead.")
    return wanted


def _exchanged(talk: Talk, wish: Wish, order: Document, swaps: Sequence[Swap]) -> Write:
    order_id, status = order["order_id"], order["status"]
    if status not in STATUSES:
        raise Refused(
            f"order {order_id} is {status}: items can be changed while it is pending, or exchanged once delivered."
        )
    methods: Methods = customer(talk.state)["payment_methods"]
    difference = round(sum(swap.new["price"] - swap.held.item["price"] for swap in swaps), 2)
    method = _method(talk, wish, order, methods, difference)
    pending = status == "pending"
    what = listing([f"{called(swap.held.item)} for {described(swap.new['options'])}" for swap in swaps])
    how = f"{money(difference)} is charged to" if difference > 0 else f"{money(-difference)} is refunded to"
    prices = listing([f"{money(swap.held.item['price'])} to {money(swap.new['price'])}" for swap in swaps])
    done = "is modified" if pending else "has an exchange requested"
    told = f"Order {order_id} {done}: {what} (from {prices}); the difference of {how} {label(methods, method)}."
    return write(
        "modify_pending_order_items" if pending else "exchange_delivered_order_items",
        f"{'Change' if pending else 'Exchange'} in order {order_id}: {what}",
        told,
        order_id=order_id,
        item_ids=[swap.held.item["item_id"] for swap in swaps],
        new_item_ids=[swap.new["item_id"] for swap in swaps],
        payment_method_id=method,
    )


def _method(talk: Talk, wish: Wish, order: Document, methods: Methods, difference: float) -> str:
    """The method that was said, or the one the order was paid with; asked for where it is open."""
    amount, order_id = money(abs(difference)), order["order_id"]
    original = talk.paid.get(order_id, order["payment_history"][0]["payment_method_id"])
    question = f"Which payment method shall be used for the difference of {amount} in order {order_id}?"
    payer = Payer(talk.state, methods, original, question)
    method = payer.meant([wish.text, wish.detail, "" if order_id in talk.paid else common(talk.everything, methods)])
    able = [one for one in methods if methods[one].get("balance", difference) >= difference]
    if method is None:
        default = original if original in able or not able else able[0]
        method = payer.ask(able, default) if len(able) > 1 and order_id not in talk.paid else default
    if method in methods and method not in able:
        raise Refused(f"{label(methods, method)} does not cover the difference of {amount} for order {order_id}.")
    return method
