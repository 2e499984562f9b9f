"""Which items of which orders a wish is about."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rehearsal.retail.items import Held, called, distinct, mentions, narrow, segments
from rehearsal.retail.kept import kept_words
from rehearsal.retail.orders import (
    MANY,
    THIS,
    Talk,
    held_in,
    holding,
    named_ids,
    one_of,
    order_ids,
    said_status,
)
from rehearsal.retail.state import Document, Refused
from rehearsal.retail.wishes import Wish

_WHOLE = re.compile(
    r"\b(?:everything(?! else| should| goes| with)|all (?:of )?(?:the |my |your |its |those "
    r"|these )?(?:\w+ )?(?:items|things|goods|products|stuff|articles)|all of (?:it|them)|(?:whole|entire"
    r"|complete|full) (?:order|thing|package)"
    r"|both(?: items| of them)?|all the (?:all )?items|the items|items|the (?:whole )?lot|all (?:three|four|five))\b",
    re.IGNORECASE,
)
_EXCEPT = re.compile(
    r"\b(?:except(?: for)?|but not|apart from|other than|all but|everything but|besides)\b(.*)", re.IGNORECASE
)

_REST = re.compile(r"\b(?:the|all) (?:rest|others?)\b|\beverything else\b", re.IGNORECASE)
_DOWN_TO = re.compile(r"\b(?:down to|including|even)\b[^.;]*", re.IGNORECASE)
_BOTH = re.compile(r"\bboth\b", re.IGNORECASE)


class Search(NamedTuple):
    """What is looked for: things that `text`, a part of the wish's words, names, best in orders of these statuses."""

    talk: Talk
    wish: Wish
    text: str
    statuses: Sequence[str]
    verb: str

    def fitting(self, orders: Sequence[Document]) -> list[Document]:
        """Those in one of the statuses; all where none is."""
        return [order for order in orders if order["status"] in self.statuses] or list(orders)


def find_items(search: Search) -> list[Held]:
    """The items that a wish means. Raises Need, Ask, Refused."""
    wish, text = search.wish, search.text
    ids = named_ids(search.talk, wish)
    orders = search.talk.orders_of(ids) if ids else _by_contents(search) or _preferred(search)
    held = held_in(orders)
    if not held:
        raise Refused("there is no order on your account.")
    if _all_of(wish.text, held) and not _own_names(text, held):
        return _whole(search, orders)
    for said in (text, wish.detail, wish.before, wish.last):
        if chosen := _named(search, said, held):
            return chosen
    whole = re.search(r"\border\b|#w\d", wish.text.lower()) or _all_of(wish.text, held)
    if _unknown(search, held):
        return _asked(search, held_in(search.fitting(orders)), sure=False)
    if whole or len({one.item["item_id"] for one in held}) == 1:
        return _whole(search, orders)
    return _asked(search, held_in(search.fitting(orders)))


def _all_of(text: str, held: list[Held]) -> bool:
    """Whether all items are meant: of more than two `both` means two that were spoken of."""
    return bool(_WHOLE.search(text if len(held) == 2 else _BOTH.sub("", text)))


def _by_contents(search: Search) -> list[Document]:
    talk, wish = search.talk, search.wish
    found = (told_by_contents(talk, text) for text in (search.text, wish.text, wish.detail, wish.before))
    return next(filter(None, found), [])


def _unknown(search: Search, held: list[Held]) -> bool:
    """Something is named that is not there: a product of the store, or what is no product at all."""
    names = [one.item["name"] for one in held]
    spoken = mentions(search.text, search.talk.state.types or {})
    return strange(search.wish.text, names) or any(
        not of_order(search.text, one.start, one.end) for one in spoken if one.name not in names
    )


def _own_names(text: str, held: list[Held]) -> bool:
    bare = _DOWN_TO.sub("", re.sub(r"\([^)]*\)", "", _EXCEPT.sub("", text)))
    spots = mentions(bare, [one.item["name"] for one in held])
    return any(not of_order(bare, one.start, one.end) for one in spots)


def _preferred(search: Search) -> list[Document]:
    """Orders that were spoken of, if they hold what the text names; else all."""
    talk, wish = search.talk, search.wish
    spoken = order_ids(wish.before) or talk.orders or order_ids(talk.everything)
    everything = talk.all_orders()
    near = [order for order in everything if order["order_id"] in spoken]
    said = said_status(wish.text)
    owned = [one.item["name"] for one in held_in(everything)]
    this = THIS.search(search.text) and not mentions(search.text, owned)
    for orders in (near, everything):
        fitting = [one for one in orders if one["status"] in (said or search.statuses)] or ([] if said else orders)
        names = [one.item["name"] for one in held_in(fitting)]
        if fitting and (mentions(search.text, names) or (orders is near and this)):
            sure = orders is near or any(order["status"] in search.statuses for order in fitting)
            return fitting if sure else everything
    return near or [one for one in everything if one["status"] in (said or search.statuses)] or everything


def _whole(search: Search, orders: list[Document]) -> list[Held]:
    """All items of one order (or of all, where all are meant), without those that are excepted."""
    talk, wish = search.talk, search.wish
    fitting = search.fitting(orders)
    if len(fitting) > 1 and not (named_ids(talk, wish) or MANY.search(wish.text)):
        held = held_in(fitting)
        by_name = holding(talk, wish.own, held, search.statuses) or holding(talk, wish.before, held, search.statuses)
        fitting = by_name if len(by_name) == 1 else one_of(talk, by_name or fitting, search.verb, search.statuses)
    held = held_in(fitting)
    if _REST.search(wish.text):
        kept = {spot.name for spot in mentions(kept_words(talk.everything), [one.item["name"] for one in held])}
        held = [one for one in held if one.item["name"] not in kept]
    if match := _EXCEPT.search(wish.own):
        out = {mention.name for mention in mentions(match[1], [one.item["name"] for one in held])}
        held = [one for one in held if one.item["name"] not in out]
    return held


def _named(search: Search, said: str, held: list[Held]) -> list[Held]:
    """The items that these words name; of several that fit one name those with the options that stand beside it."""
    own = search.wish.text
    spots = [one for one in mentions(said, [h.item["name"] for h in held]) if not of_order(said, one.start, one.end)]
    places = list({(spot.start, spot.end): spot for spot in spots}.values())
    groups = [tuple(one.name for one in spots if one.start == place.start) for place in places]
    alone = len(set(groups)) == len(groups)  # no name stands there twice
    several = _several(said, own)
    found: list[Held] = []
    for names, words in zip(groups, segments(said, places) if places else [], strict=True):
        same = [one for one in held if one.item["name"] in names]
        about = said if len(groups) == 1 else words
        close = _close(search, _in_status(search, same), about, alone=alone, own=said is search.text)
        if not (several and len({one.order_id for one in close}) == 1):
            close = distinct(close)
            close = close if len(close) == 1 else _asked(search, close)
        found += close
    found += _by_option(search, said, held) if said is search.text and found and search.verb != "exchange" else []
    return found if several and len(groups) == 1 else distinct(found)


def _by_option(search: Search, said: str, held: list[Held]) -> list[Held]:
    """`the black one` beside what is named: of a thing that was spoken of before."""
    found: list[Held] = []
    spoken = {spot.name for spot in mentions(search.wish.before, [one.item["name"] for one in held])}
    same = [one for one in held if one.item["name"] in spoken]
    for match in re.finditer(r"\bthe (?P<which>\w+) one\b(?= (?:and|as well|plus)\b|[,;.]|$)", said, re.IGNORECASE):
        close = narrow(match["which"], same)
        found += close if len(distinct(close)) == 1 else []
    return found


def _close(search: Search, same: list[Held], about: str, *, alone: bool, own: bool) -> list[Held]:
    """Of items of one name those that fit the wish's words best, and then what else was said."""
    if not own:
        return narrow(search.text, same, about)
    return narrow(about, same, f"{search.text} {search.wish.own}" if alone else "")


_HOLDS = re.compile(
    r"\b(?:order|purchase|package|parcel|(?:cancel|from|in) the one) (?:with|containing|of|including"
    r"|(?:that|which) (?:has(?! not)|had|contains|includes|holds|contained|included)|that came with"
    r"|where (?:there is|i (?:got|have|bought)))\b"
    r"(?P<what>(?:(?!\b(?:for|to|into|please|and (?:swap|exchange|return|change|replace))\b)[^.;,:]){0,80})",
    re.IGNORECASE,
)


def of_order(text: str, start: int, end: int) -> bool:
    """`the hoodie order`, `the order with the hoodie` name an order, not a hoodie."""
    within = any(match.start("what") <= start < match.end("what") for match in _HOLDS.finditer(text))
    return within or bool(re.match(r"\s+orders?\b", text[end:]))


def told_by_contents(talk: Talk, text: str) -> list[Document]:
    """The orders that the text tells from others by what is in them: `the order with the hoodie`."""
    orders = talk.all_orders() if _HOLDS.search(text) else []
    for match in _HOLDS.finditer(text):
        names = {one.name for one in mentions(match["what"], [held.item["name"] for held in held_in(orders)])}
        fitting = [order for order in orders if names and names <= {item["name"] for item in order["items"]}]
        if fitting:
            return fitting
    return []


_OBJECT = re.compile(
    r"\b(?:return(?:ing)?|refund(?:ed)?(?: for)?|send(?:ing)?(?: back)?|exchang(?:e|ing)|swap(?:ping)?|replac(?:e|ing))"
    r" (?:the|my|your|a|an|this|that|these|those|one|two|both)(?P<noun>(?: (?!in\b|from\b|of\b)[#\w'-]+){1,4})",
    re.IGNORECASE,
)
_PLAIN = re.compile(
    r"\b(?:orders?|purchases?|items?|things?|stuff|products?|goods|articles?|lot|package|parcel|delivery|ones?|whole"
    r"|entire|complete|everything|all|money|#?w\d+)\b",
    re.IGNORECASE,
)


def strange(text: str, known: Sequence[str]) -> bool:
    """Whether what shall be returned or exchanged is named, and is nothing that is known here."""
    nouns = [match["noun"] for match in _OBJECT.finditer(text)]
    return any(not _PLAIN.search(noun) and not mentions(noun, known) for noun in nouns)


def _several(said: str, wish: str) -> bool:
    """Whether all items of a kind are meant."""
    one = re.search(r"\bone\b", wish.lower())
    return bool(re.search(r"\b(?:both|all|two)\b", said.lower()) or _BOTH.search(wish)) and not one


def _in_status(search: Search, held: list[Held]) -> list[Held]:
    """Where the order was not named: items of orders in a status that fits, if there are any."""
    if named_ids(search.talk, search.wish):
        return held
    status = {order["order_id"]: order["status"] for order in search.talk.all_orders()}
    return [one for one in held if status.get(one.order_id, "") in search.statuses] or held


def _asked(search: Search, held: list[Held], *, sure: bool = True) -> list[Held]:
    """Which of these items is meant; not sure: perhaps none of them."""
    held = distinct(held)
    if sure and len(held) == 1:
        return held
    shown = "; ".join(f"{called(one.item)} in {one.order_id}" for one in held)
    answer = search.talk.state.ask(f"Which item would you like to {search.verb}? {shown}.", vague=sure)
    ids = order_ids(answer)
    close = [one for one in held if one.order_id in ids] or held
    if re.search(r"\b(?:all|both|everything)\b", answer.lower()):
        return close
    names = {mention.name for mention in mentions(answer, [one.item["name"] for one in close])}
    close = distinct(narrow(answer, [one for one in close if not names or one.item["name"] in names]))
    if (len(close) == 1 and (sure or names or ids)) or len(names) > 1:
        return close
    raise Refused(f"it is not clear which item you would like to {search.verb}: {shown}.")
