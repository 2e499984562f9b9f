"""Look-ups: which facts a question is after, and what the documents say. Raises Need, Ask, Refused."""

import re
from collections.abc import Sequence

from rehearsal.retail.identity import customer
from rehearsal.retail.items import Held, called, distinct, mentions, narrow
from rehearsal.retail.orders import STATUS_WORDS, Talk, find_orders, named_ids, order_ids, said_status
from rehearsal.retail.payments import label, mentioned, named
from rehearsal.retail.shelf import compared, on_offer
from rehearsal.retail.state import Document
from rehearsal.retail.wishes import Wish
from rehearsal.retail.words import listing, money

FACETS = {
    "tracking": r"\btrack\w*|\bshipment (?:number|id)\b|\bparcel number\b",
    "balance": (
        r"\bbalance\b|\b(?:left|much|money|remain\w*)\b[^.;?]*\bgift ?cards?\b"
        r"|\bgift ?cards?\b[^.;?]*\b(?:left|worth|remain\w*|hold|money|dollars)\b"
    ),
    "methods": (
        r"\bpayment methods?\b|\bcards?\b[^.;?]*\bon file\b|\bsaved cards?\b|\bwhich cards\b"
        r"|\bcards\b[^.;?]*\b(?:account|stored|saved|registered)\b"
    ),
    "profile": (
        r"\b(?:my|your|the) (?:e-?mail|default address|home address|account address)\b"
        r"|\baddress\b[^.;?]*\b(?:file|account|profile|have for)\b"
    ),
    "address": (r"\baddress\b|\bwhere (?:is|are|will|does|do)\b[^.;?]*\b(?:go|going|sent|shipped|ship|delivered)\b"),
    "refund": r"\brefund\w*|\bget back\b|\bmoney back\b",
    "paid": (
        r"\b(?:which|what) (?:card|payment|method|account)\b|\bhow (?:did|have|was)\b[^.;?]*\b(?:pay|paid)\b"
        r"|\bpaid with\b|\bcharged\b"
    ),
    "total": (
        r"\btotal\b|\bcosts?\b|\bhow much\b|\bamount\b|\bprices?\b|\bpaid\b|\bpay\b|\bworth\b|\bsum\b|\bspen[dt]\b"
        r"|\bcheapest\b|\bmost expensive\b"
    ),
    "status": (
        r"\bstatus\b|\bwhere is\b|\bshipped\b|\barriv\w*|\bdelivered\b|\bpending\b|\bprocessed\b|\bon its way\b"
        r"|\bhow far\b|\bhappen\w*"
    ),
    "items": r"\bitems?\b|\bwhat (?:is|did|was|have|are) (?:in|i|you|we)\b|\bcontain\w*|\bcontents?\b|\bordered\b",
    "orders": (
        r"\borders\b|\border history\b|\bpurchases\b|\border (?:number|id)s?\b"
        r"|\bwhich (?:of (?:them|(?:my|your|the) (?:\w+ )?orders)|orders?)\b"
    ),
    "shop": (
        r"\b(?:options?|variants?|variations?|versions?|colou?rs?|sizes?|available|availability|in stock|sell|carry"
        r"|offer|models?|kinds?|types?|styles?|materials?)\b|\bdo you have\b|\bcheapest\b|\bmost expensive\b"
        r"|\bhow many\b"
    ),
}
_PATTERNS = {facet: re.compile(pattern, re.IGNORECASE) for facet, pattern in FACETS.items()}
_MINE = re.compile(
    r"\b(?:i|you|we) (?:\w+ )?(?:bought|ordered|paid|have ordered|purchased|received|got)\b|\b(?:my"
    r"|your) (?:\w+ ){0,4}order\b|#w\d|\bget back\b|\b(?:in|from|of) (?:my|your|the) order\b|\breturn\w*",
    re.IGNORECASE,
)


_STOCK = re.compile(
    r"\bavailab\w+|\bin stock\b|\bcheapest\b|\bhow many (?:\w+ )?(?:options|variants|versions|kinds)\b|\bdo you have\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|did|paid|bought|ordered|spent)\b"
    r"|^(?!.*\b(?:do|does|would|will|could|can|is|are)\b.*\bcost\b).*\bcost\b(?! (?:me )?(?:now|today))",
    re.IGNORECASE,
)


_COMPARED = re.compile(
    r"\b(?:cheaper|cheapest|dearer|pricier|most expensive|more expensive|less expensive)\b"
    r"|\b(?:more|less|higher|lower|difference|compare[ds]?|comparison)\b(?=.*\b(?:than|cost|price|between|with|to"
    r"|current|now|available|shop|store)\b)|\b(?:other|another) (?:variants?|versions?|ones?|options?)\b",
    re.IGNORECASE,
)


def facets_of(text: str) -> list[str]:
    return [facet for facet, pattern in _PATTERNS.items() if pattern.search(text)]


def is_about_the_store(wish: Wish) -> bool:
    return bool(facets_of(wish.own) or order_ids(wish.own))


def look_up(talk: Talk, wish: Wish) -> list[str]:
    """Sentences with the facts that the wish asks for; none where it asks for nothing that can be known."""
    facets = facets_of(wish.text) or facets_of(wish.own)
    if re.search(r"\b(?:left|remains?|worth|on (?:it|them|each))\b", wish.text) and re.search(
        r"\bgift cards?\b", wish.before, re.IGNORECASE
    ):
        facets = ["balance"]
    facts: list[str] = []
    if not facets and not order_ids(wish.own):
        return []
    offered = "shop" in facets or ("total" in facets and not _MINE.search(wish.text) and not _PAST.search(wish.text))
    mine = bool(_MINE.search(wish.text))
    about_order = bool({"tracking", "refund", "paid", "total", "status", "items", "orders", "address"} & set(facets))
    account = {"balance", "methods", "profile"} & set(facets)
    if offered and not account and not order_ids(wish.own) and not (mine and not _STOCK.search(wish.text)):
        facts += on_offer(talk, wish)
        if facts and not (mine or {"tracking", "balance", "methods"} & set(facets)):
            return facts
    about_order = about_order or (offered and mine)
    if account:
        facts += _account(customer(talk.state, leaf=not order_ids(wish.own)), facets)
    if (about_order and not facts) or order_ids(wish.own):
        facts += _orders(talk, wish, facets)
    return facts


def _account(user: Document, facets: Sequence[str]) -> list[str]:
    methods = user["payment_methods"].values()
    facts = []
    if "balance" in facets:
        cards = [f"{money(one['balance'])} ({one['id']})" for one in methods if one["source"] == "gift_card"]
        facts.append(
            f"There is {listing(cards)} left on your gift card{'s' * (len(cards) > 1)}."
            if cards
            else "There is no gift card on your account."
        )
    if "methods" in facets:
        facts.append(f"On file for you: {listing([named(one) for one in methods])}.")
    if "profile" in facets:
        facts.append(f"Your account has the e-mail address {user['email']} and the address {_place(user['address'])}.")
    return facts


# --- orders


def _orders(talk: Talk, wish: Wish, facets: Sequence[str]) -> list[str]:
    held, counted = _held_items(talk, wish), list[str]()
    if held:
        talk.remember([one.order_id for one in held])
        orders = talk.orders_of(list(dict.fromkeys(one.order_id for one in held)))
    elif "orders" in facets and not named_ids(talk, wish):
        orders = _filtered(talk.all_orders(), wish.text, customer(talk.state)["payment_methods"])
        if not orders:
            return ["None of your orders is like that."]
        count = f"{len(orders)} of your orders are" if len(orders) > 1 else "One of your orders is"
        counted = [f"{count} meant: {listing([order['order_id'] for order in orders])}.", *_extremes(orders, wish.text)]
    else:
        orders = find_orders(talk, wish, list(STATUS_WORDS), "know about")
        talk.remember([order["order_id"] for order in orders])
    methods = customer(talk.state)["payment_methods"]
    facts = [_order(order, facets, methods) for order in orders]
    if len(orders) > 1 and re.search(
        r"\btotal\b|\bsum\b|\btogether\b|\ball\b|\bspen[dt]\b|\bhow many\b|\badd up\b|\baltogether\b", wish.text.lower()
    ):
        facts.append(f"Together these {len(orders)} orders come to {money(sum(_total(order) for order in orders))}.")
    about_shop = compared(talk, held, wish.text) if held and _COMPARED.search(wish.text) else []
    return [*_prices(held), *about_shop, *counted, *facts]


def _held_items(talk: Talk, wish: Wish) -> list[Held]:
    """Items that the question is about, where it names some."""
    ids = named_ids(talk, wish)
    orders = talk.orders_of(ids) if ids else talk.all_orders()
    if not ids and talk.orders:
        orders = sorted(orders, key=lambda order: order["order_id"] not in talk.orders)
    every = [Held(order["order_id"], item) for order in orders for item in order["items"]]
    found: list[Held] = []
    for name in dict.fromkeys(mention.name for mention in mentions(wish.text, [one.item["name"] for one in every])):
        fitting = distinct(narrow(wish.text, [one for one in every if one.item["name"] == name]))
        found += _meant(talk, fitting, orders, said_status(wish.text))
    return found


def _meant(talk: Talk, held: list[Held], orders: Sequence[Document], statuses: Sequence[str]) -> list[Held]:
    """Of the same thing in several orders, that in the order which was spoken of, or whose status was."""
    wanted = {order["order_id"] for order in orders if order["status"] in statuses}
    held = [one for one in held if one.order_id in talk.orders] or held
    return [one for one in held if one.order_id in wanted] or held


def _prices(held: Sequence[Held]) -> list[str]:
    if not held:
        return []
    told = f"{listing([f'The {called(one.item)} in {one.order_id} costs {money(one.item["price"])}' for one in held])}."
    total = sum(one.item["price"] for one in held)
    return [told, *([f"Together that is {money(total)}."] if len(held) > 1 else [])]


def _extremes(orders: Sequence[Document], text: str) -> list[str]:
    """Which order cost most or least, where that is asked."""
    if not re.search(r"\b(?:most expensive|cheapest|biggest|largest|highest|lowest|smallest|least)\b", text.lower()):
        return []
    ranked = sorted(orders, key=_total)
    told = [f"{one['order_id']} with {money(_total(one))}" for one in (ranked[0], ranked[-1])]
    return [f"The lowest total has {told[0]}, the highest {told[1]}."]


def _filtered(orders: Sequence[Document], text: str, methods: Document) -> list[Document]:
    """Those of a status that was said, and paid as was said."""
    if re.search(r"\b(?:paid|pay|charged|billed|using|used|bought)\b", text.lower()) and (
        spoken := mentioned(text, methods)
    ):
        wanted_methods = {one for some in spoken for one in some}
        orders = [order for order in orders if order["payment_history"][0]["payment_method_id"] in wanted_methods]
    wanted = said_status(text)
    if re.search(r"\bnot (?:yet )?(?:been )?delivered\b|\bon (?:its|their) way\b", text.lower()):
        wanted = ["pending", "processed"]
    return [order for order in orders if order["status"] in wanted] if wanted else list(orders)


def _total(order: Document) -> float:
    return round(sum(float(item["price"]) for item in order["items"]), 2)


def _order(order: Document, facets: Sequence[str], methods: Document) -> str:
    """One order in a few sentences."""
    items = listing([f"{called(item)} for {money(item['price'])}" for item in order["items"]])
    told = f"Order {order['order_id']} is {order['status']}: {items}; total {money(_total(order))}"
    paid = [entry for entry in order["payment_history"] if entry["transaction_type"] == "payment"]
    told += f", paid with {listing([label(methods, entry['payment_method_id']) for entry in paid])}."
    back = [entry for entry in order["payment_history"] if entry["transaction_type"] == "refund"]
    if back:
        paid_back = [f"{money(entry['amount'])} to {label(methods, entry['payment_method_id'])}" for entry in back]
        told += f" Refunded: {listing(paid_back)}."
    tracking = [number for one in order["fulfillments"] for number in one["tracking_id"]]
    if tracking:
        told += f" Tracking number: {listing(tracking)}."
    elif "tracking" in facets:
        told += " There is no tracking number yet."
    if "address" in facets:
        told += f" It goes to {_place(order['address'])}."
    return told


def _place(address: Document) -> str:
    street = ", ".join(part for part in (address["address1"], address["address2"]) if part)
    return f"{street}, {address['city']}, {address['state']} {address['zip']}"
