"""Two hundred tools, as where many MCP servers are configured: the store's sixteen, and eight of each of 23 others.

Half of the others speak of what the store speaks of as well: customers, orders, payments, returns, addresses, products.
"""

from pydantic import JsonValue

from packs.retail.specs import SPECS
from parley.events.values import Effect
from parley.protocol.tools import ToolSpec

SERVERS: dict[str, dict[str, str]] = {  # what each one's tools are about, and what is known of it
    "warehouse": {"stock order": "items, shelf, status, address", "stock item": "product, quantity, options, price"},
    "billing": {"invoice": "customer, items, amounts, payment method", "payment": "method, card, amount, refund"},
    "loyalty": {"member": "name, e-mail, zip, points, gift cards", "gift card": "balance, customer, expiry"},
    "shipping": {"parcel": "order, address, tracking, delivery status", "pickup": "address, city, zip, time"},
    "suppliers": {"purchase order": "supplier, items, pending deliveries", "supplier return": "items, reason, refund"},
    "catalogue": {"product page": "options, variants, available colours", "price list": "items, prices, discounts"},
    "crm": {"customer": "name, e-mail, address, orders", "complaint": "customer, order, exchange or refund wanted"},
    "marketplace": {"listing": "product, variant, price, seller", "dispute": "order, buyer, items, refund"},
    "subscriptions": {"subscription": "user, plan, payment method", "delivery box": "items, address, next date"},
    "rentals": {"rental": "item, customer, return date, deposit", "damage report": "item, reason, payment"},
    "repairs": {"repair order": "item, user, status, cost", "spare part": "product, price, availability"},
    "accounts": {"user profile": "name, e-mail, default address", "login": "user, password, devices"},
    "calendar": {"meeting": "people, place, time", "reminder": "text, date"},
    "mail": {"message": "sender, subject, body", "mailbox": "folders, size"},
    "files": {"document": "name, folder, text", "folder": "names, sizes"},
    "code": {"pull request": "branch, changes, reviews", "build": "commit, status, log"},
    "travel": {"flight": "airport, seats, fare", "hotel booking": "guest, nights, room"},
    "people": {"employee": "name, team, salary", "leave request": "employee, days, reason"},
    "analytics": {"report": "figures, period, chart", "dashboard": "tiles, filters"},
    "support": {"ticket": "customer, summary, agents", "knowledge article": "title, text"},
    "maps": {"place": "street, city, postal code, country", "route": "places, distance, duration"},
    "bank": {"bank account": "owner, balance", "transfer": "amount, recipient, reference"},
    "home": {"lamp": "room, colour, brightness", "thermostat": "room, temperature"},
}


def _other(server: str, name: str, description: str, **parameters: str) -> ToolSpec:
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {one: {"type": "string", "description": told} for one, told in parameters.items()},
        "required": list(parameters),
        "additionalProperties": False,
    }
    effect: Effect = "read" if name.startswith(("find_", "get_")) else "write"
    return ToolSpec(
        name=f"{server}__{name}", description=description, parameters=schema, effect=effect, origin=server, keyed=False
    )


def _tools_of(server: str, thing: str, known: str) -> tuple[ToolSpec, ...]:
    """As wordy as the store's own descriptions, so that neither has more of a message's small words."""
    name = thing.replace(" ", "_")
    key = {f"{name}_id": f"The {thing}'s id, from find_{name}."}
    found = f"Find the id of a {thing} by words: the first thing to do where it is not known which of them is meant."
    told = f"A {thing} as it is now: its {known}. It is for the people of {server} to look at, and changes nothing."
    change = f"Replace what is known of a {thing}, its {known}, by other values. Answers the {thing} as it is then."
    cancel = f"Cancel a {thing} that is still pending; it cannot be changed then. Answers the {thing} as it is then."
    return (
        _other(server, f"find_{name}", found, words=f"Any words in the {thing}; capitals do not matter."),
        _other(server, f"get_{name}_details", told, **key),
        _other(server, f"modify_{name}", change, **key, values="The values to have instead, as a JSON object."),
        _other(server, f"cancel_{name}", cancel, **key, reason=f"Why the {thing} is to be cancelled."),
    )


OTHERS = tuple(
    spec
    for server, things in SERVERS.items()
    for thing, known in things.items()
    for spec in _tools_of(server, thing, known)
)
TOOLS = tuple(sorted((*SPECS, *OTHERS), key=lambda spec: spec.name))
