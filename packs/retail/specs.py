"""The sixteen tools as a model is told of them, with their parameters in the order in which the functions take them."""

from pydantic import JsonValue

from packs.retail.writes import ADDRESS, CANCEL_REASONS
from shared.events.values import Effect
from shared.tools import ToolSpec

ORIGIN = "retail"

_ORDER: JsonValue = {"type": "string", "description": "The order's id with its leading #, like #W0000000."}
_USER: JsonValue = {"type": "string", "description": "The customer's id, like ann_lee_1234."}
_METHOD: JsonValue = {
    "type": "string",
    "description": "The id of one of the customer's payment methods, like gift_card_0000000, from get_user_details.",
}
_ZIP: JsonValue = {"type": "string", "description": "The postal code, as text: 02134."}
_LINES: dict[str, str] = {
    "address1": "Street and number.",
    "address2": "Apartment or suite; an empty text if there is none.",
    "city": "The city.",
    "state": "The state's two letters, like CA.",
    "country": "The country, like USA.",
}
_ADDRESS: dict[str, JsonValue] = {
    line: _ZIP if line == "zip" else {"type": "string", "description": _LINES[line]} for line in ADDRESS
}


def _text(description: str) -> JsonValue:
    return {"type": "string", "description": description}


def _items(description: str) -> JsonValue:
    told = f"{description} A JSON list of ids; an item that is meant twice is named twice."
    return {"type": "array", "items": {"type": "string"}, "description": told}


def _spec(name: str, effect: Effect, description: str, **parameters: JsonValue) -> ToolSpec:
    schema: dict[str, JsonValue] = {
        "type": "object",
        "properties": parameters,
        "required": list(parameters),
        "additionalProperties": False,
    }
    reads = effect == "read"
    kind = {"effect": effect, "keyed": not reads, "quiet": reads}
    return ToolSpec(name=name, description=description, parameters=schema, origin=ORIGIN, **kind)


_OLD_ITEMS = _items("The item ids in the order that are to be replaced.")
_NEW_ITEMS = _items("The item ids to have instead: the n-th replaces the n-th of item_ids, same product, available.")
_REASON: JsonValue = {"type": "string", "enum": list(CANCEL_REASONS), "description": "Why the customer cancels."}

SPECS: tuple[ToolSpec, ...] = (
    _spec(
        "calculate",
        "read",
        "Work out an arithmetic expression; the result is rounded to two decimals.",
        expression=_text("Digits, + - * / ( ) . and spaces only, like (12.50 + 3) * 2."),
    ),
    _spec(
        "cancel_pending_order",
        "write",
        "Cancel a whole order that is still pending. All that was paid is refunded: to a gift card at once, to other "
        "payment methods within 5 to 7 days. Answers the order as it is then.",
        order_id=_ORDER,
        reason=_REASON,
    ),
    _spec(
        "exchange_delivered_order_items",
        "write",
        "Ask for items of a delivered order to be exchanged for other variants of the same products. One call for all "
        "items: the order can be neither exchanged nor returned after it. Answers the order as it is then.",
        order_id=_ORDER,
        item_ids=_OLD_ITEMS,
        new_item_ids=_NEW_ITEMS,
        payment_method_id=_METHOD,
    ),
    _spec(
        "find_user_id_by_email",
        "read",
        "Find the customer's id by e-mail address: the first way to learn who is speaking.",
        email=_text("The e-mail address; capitals do not matter."),
    ),
    _spec(
        "find_user_id_by_name_zip",
        "read",
        "Find the customer's id by name and postal code, where the e-mail address is not known or not found.",
        first_name=_text("The first name."),
        last_name=_text("The last name."),
        zip=_ZIP,
    ),
    _spec(
        "get_order_details",
        "read",
        "An order: its status, items with item and product ids, options and prices, address, deliveries and payments.",
        order_id=_ORDER,
    ),
    _spec(
        "get_product_details",
        "read",
        "A product and all its variants: item id, options, price, and whether it is available.",
        product_id=_text("The product's id, not an item's id: both have ten digits."),
    ),
    _spec(
        "get_user_details",
        "read",
        "A customer: name, address, e-mail, payment methods with gift card balances, and the ids of all orders.",
        user_id=_USER,
    ),
    _spec("list_all_product_types", "read", "All products of the store, by name, with their product ids."),
    _spec(
        "modify_pending_order_address",
        "write",
        "Replace the shipping address of a pending order. Answers the order as it is then.",
        order_id=_ORDER,
        **_ADDRESS,
    ),
    _spec(
        "modify_pending_order_items",
        "write",
        "Replace items of a pending order by other variants of the same products. Once per order, so one call for all "
        "items; nothing else can be changed in the order afterwards. Answers the order as it is then.",
        order_id=_ORDER,
        item_ids=_OLD_ITEMS,
        new_item_ids=_NEW_ITEMS,
        payment_method_id=_METHOD,
    ),
    _spec(
        "modify_pending_order_payment",
        "write",
        "Pay a pending order with another payment method of the customer; the first one is refunded. "
        "Answers the order as it is then.",
        order_id=_ORDER,
        payment_method_id=_METHOD,
    ),
    _spec(
        "modify_user_address",
        "write",
        "Replace a customer's default address; orders keep theirs. Answers the customer's details as they are then.",
        user_id=_USER,
        **_ADDRESS,
    ),
    _spec(
        "return_delivered_order_items",
        "write",
        "Ask for items of a delivered order to be returned, with the refund to the method it was paid with or to a "
        "gift card. The order can be neither returned nor exchanged after it. Answers the order as it is then.",
        order_id=_ORDER,
        item_ids=_items("The item ids in the order that go back."),
        payment_method_id=_METHOD,
    ),
    _spec(
        "think",
        "read",
        "Write a thought down. It changes nothing and finds nothing out.",
        thought=_text("The thought."),
    ),
    _spec(
        "transfer_to_human_agents",
        "read",
        "Hand the customer over to a person, where none of the other tools can do what is asked, or on request.",
        summary=_text("What the customer wants, and what was done so far."),
    ),
)


def _required(spec: ToolSpec) -> tuple[str, ...]:
    names = spec.parameters["required"]
    return tuple(str(name) for name in names) if isinstance(names, list) else ()


REQUIRED: dict[str, tuple[str, ...]] = {spec.name: _required(spec) for spec in SPECS}
