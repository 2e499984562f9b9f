"""Two hundred tools, as if many MCP servers were configured: the store's sixteen, and eight of each of 23 others.

Half of the other servers share the store's vocabulary: customers, orders, payments, returns, addresses, products.
"""

from pydantic import JsonValue

from packs.retail.specs import SPECS
from parley.events.values import Effect
from parley.protocol.tools import ToolSpec

SERVERS: dict[str, dict[str, str]] = {  # by server: the entities its tools handle, with their fields
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


def _tool(server: str, name: str, description: str, **parameters: str) -> ToolSpec:
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": {parameter: {"type": "string", "description": text} for parameter, text in parameters.items()},
        "required": list(parameters),
        "additionalProperties": False,
    }
    effect: Effect = "read" if name.startswith(("find_", "get_")) else "write"
    return ToolSpec(
        name=f"{server}__{name}", description=description, parameters=schema, effect=effect, origin=server, keyed=False
    )


def _tools_of(server: str, entity: str, fields: str) -> tuple[ToolSpec, ...]:
    """Four tools for one entity. The descriptions are as long as the store's, so that word counts favour neither."""
    name = entity.replace(" ", "_")
    key = {f"{name}_id": f"The {entity}'s id, from find_{name}."}
    find = f"Find the id of a {entity} by words: the first thing to do where it is not known which of them is meant."
    get = f"A {entity} as it is now: its {fields}. It is for the people of {server} to look at, and changes nothing."
    change = f"Replace what is known of a {entity}, its {fields}, by other values. Answers the {entity} as it is then."
    cancel = f"Cancel a {entity} that is still pending; it cannot be changed then. Answers the {entity} as it is then."
    return (
        _tool(server, f"find_{name}", find, words=f"Any words in the {entity}; capitals do not matter."),
        _tool(server, f"get_{name}_details", get, **key),
        _tool(server, f"modify_{name}", change, **key, values="The values to have instead, as a JSON object."),
        _tool(server, f"cancel_{name}", cancel, **key, reason=f"Why the {entity} is to be cancelled."),
    )


OTHER_TOOLS = tuple(
    spec
    for server, entities in SERVERS.items()
    for entity, fields in entities.items()
    for spec in _tools_of(server, entity, fields)
)
TOOLS = tuple(sorted((*SPECS, *OTHER_TOOLS), key=lambda spec: spec.name))
