"""What the shop has: its products, their variants and prices, and how these compare with what a customer holds."""

import re
from collections.abc import Sequence
from functools import partial

from rehearsal.retail.items import Held, described, mentions
from rehearsal.retail.options import axes_of, named_options
from rehearsal.retail.orders import Talk
from rehearsal.retail.state import Call, Document, Need, Refused, State, together
from rehearsal.retail.wishes import Wish
from rehearsal.retail.words import money


def _types(state: State) -> dict[str, str]:
    if state.types is None:
        call = Call("list_all_product_types", {})
        if call.key in state.by_key and not state.by_key[call.key].fine:
            raise Refused("the list of products could not be read.")
        raise Need(call)
    return state.types


def on_offer(talk: Talk, wish: Wish) -> list[str]:
    types = _types(talk.state)
    spots = mentions(wish.text, types) or mentions(wish.before, types)
    if re.search(
        r"\b(?:product types?|types? of products?|kinds? of products?|what (?:products|do you sell)"
        r"|products do you)\b",
        wish.text.lower(),
    ) and not mentions(wish.text, types):
        return [f"The store has {len(types)} types of products: {', '.join(types)}."]
    names = list(dict.fromkeys(spot.name for spot in spots))
    products = together([partial(talk.state.product, types[name], leaf=True) for name in names])
    return [fact for product in products if product is not None for fact in _product(product, wish.text)]


def compared(talk: Talk, held: Sequence[Held], text: str) -> list[str]:
    """What the shop has of the things that the customer holds, and how the prices differ."""
    ids = list(dict.fromkeys(str(one.item["product_id"]) for one in held))
    products = together([partial(talk.state.product, one, leaf=True) for one in ids])
    facts = []
    for product in (one for one in products if one is not None):
        facts += _product(product, text)
        there = [one for one in product["variants"].values() if one["available"]]
        for mine in (one for one in held if one.item["product_id"] == product["product_id"] and there):
            cheap, dear = (pick(one["price"] for one in there) for pick in (min, max))
            facts.append(
                f"Against yours in {mine.order_id} at {money(mine.item['price'])}, the cheapest is"
                f" {_difference(cheap, mine)}, the most expensive {_difference(dear, mine)}."
            )
    return facts


def _difference(price: float, mine: Held) -> str:
    more = round(price - float(mine.item["price"]), 2)
    return f"{money(abs(more))} {'more' if more > 0 else 'less'}" if more else "just as much"


def _product(product: Document, text: str) -> list[str]:
    variants: list[Document] = list(product["variants"].values())
    there = [one for one in variants if one["available"]]
    asked = named_options(text, axes_of(one["options"] for one in variants))
    fitting = [one for one in variants if asked and asked.fits(one["options"])]
    name = product["name"].lower()
    facts = [f"There are {len(variants)} variants of the {name}, {len(there)} of them available."]
    cheap, dear = (pick(there, key=lambda one: one["price"]) if there else None for pick in (min, max))
    if cheap and dear:
        facts.append(f"The cheapest available one is {_variant(cheap)}; the most expensive is {_variant(dear)}.")
    if asked:
        facts.append(
            f"As you describe it: {'; '.join(map(_stock, fitting))}." if fitting else f"There is no {name} like that."
        )
    elif there:
        facts.append(f"Available: {'; '.join(map(_variant, there))}.")
    return facts


def _variant(one: Document) -> str:
    return f"{described(one['options'])} at {money(one['price'])}"


def _stock(one: Document) -> str:
    return f"{_variant(one)} ({'available' if one['available'] else 'out of stock'})"
