"""The specifications of the sixteen tools, with parameters in the order of the functions.

They are not bound to a store: `packs.retail.pack` does that.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from packs.retail.confirmation import shows_change
from packs.retail.policy import call_violations
from packs.retail.results import PRODUCT_IDS, TEXT, OrderRecord, ProductRecord, UserRecord
from packs.retail.writes import Reason
from parley import Context, Failed, PastCall, Tool

ORIGIN = "retail"
TIMEOUT = 60.0

OrderId = Annotated[str, Field(description="The order's id with its leading #, like #W0000000.")]
UserId = Annotated[str, Field(description="The customer's id, like ann_lee_1234.")]
MethodId = Annotated[
    str,
    Field(
        description="The id of one of the customer's payment methods, like gift_card_0000000, from get_user_details."
    ),
]
Zip = Annotated[str, Field(description="The postal code, as text: 02134.")]
_TWICE = "A JSON list of ids; an item that is meant twice is named twice."
OldItems = Annotated[list[str], Field(description=f"The item ids in the order that are to be replaced. {_TWICE}")]
NewItems = Annotated[
    list[str],
    Field(
        description="The item ids to have instead: the n-th replaces the n-th of item_ids, same product, available. "
        + _TWICE
    ),
]


class Arguments(BaseModel):
    """The arguments of one tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Calculate(Arguments):
    expression: Annotated[str, Field(description="Digits, + - * / ( ) . and spaces only, like (12.50 + 3) * 2.")]


class CancelOrder(Arguments):
    order_id: OrderId
    reason: Annotated[Reason, Field(description="Why the customer cancels.")]


class ReplaceItems(Arguments):
    order_id: OrderId
    item_ids: OldItems
    new_item_ids: NewItems
    payment_method_id: MethodId


class Email(Arguments):
    email: Annotated[str, Field(description="The e-mail address; capitals do not matter.")]


class NameZip(Arguments):
    first_name: Annotated[str, Field(description="The first name.")]
    last_name: Annotated[str, Field(description="The last name.")]
    zip: Zip


class OrderArguments(Arguments):
    order_id: OrderId


class ProductArguments(Arguments):
    product_id: Annotated[str, Field(description="The product's id, not an item's id: both have ten digits.")]


class UserArguments(Arguments):
    user_id: UserId


class NoArguments(Arguments):
    pass


class _Address(Arguments):
    address1: Annotated[str, Field(description="Street and number.")]
    address2: Annotated[str, Field(description="Apartment or suite; an empty text if there is none.")]
    city: Annotated[str, Field(description="The city.")]
    state: Annotated[str, Field(description="The state's two letters, like CA.")]
    country: Annotated[str, Field(description="The country, like USA.")]
    zip: Zip


class OrderAddress(_Address, OrderArguments):
    pass


class UserAddress(_Address, UserArguments):
    pass


class Payment(Arguments):
    order_id: OrderId
    payment_method_id: MethodId


class ReturnItems(Arguments):
    order_id: OrderId
    item_ids: Annotated[list[str], Field(description=f"The item ids in the order that go back. {_TWICE}")]
    payment_method_id: MethodId


class Thought(Arguments):
    thought: Annotated[str, Field(description="The thought.")]


class TransferArguments(Arguments):
    summary: Annotated[str, Field(description="What the customer wants, and what was done so far.")]


async def _unopened(_: Arguments, __: Context) -> object:
    raise Failed("The store is not open.")


def _check(name: str, arguments: Arguments, past: Sequence[PastCall]) -> list[str]:
    return call_violations(name, arguments.model_dump(), past)


def _confirms(name: str, arguments: Arguments, result: JsonValue) -> bool:
    return shows_change(name, arguments.model_dump(), result)


def _read(name: str, arguments: type[Arguments], description: str, **more: Any) -> Tool[Any]:
    return _tool(name, arguments, description, effect="read", quiet=True, **more)


def _write(name: str, arguments: type[Arguments], description: str, **more: Any) -> Tool[Any]:
    confirms = partial(_confirms, name)
    options = {"returns": OrderRecord, **more}
    return _tool(name, arguments, description, effect="write", keyed=True, confirms=confirms, **options)


def _tool(name: str, arguments: type[Arguments], description: str, **more: Any) -> Tool[Any]:
    return Tool(
        name=name,
        arguments=arguments,
        run=_unopened,
        description=description,
        check=partial(_check, name),
        seconds=TIMEOUT,
        **more,
    )


TOOLS: tuple[Tool[Any], ...] = (
    _read(
        "calculate",
        Calculate,
        "Work out an arithmetic expression; the result is rounded to two decimals.",
        returns=TEXT,
    ),
    _write(
        "cancel_pending_order",
        CancelOrder,
        "Cancel a whole order that is still pending. All that was paid is refunded: to a gift card at once, to other "
        "payment methods within 5 to 7 days. Answers the order as it is then.",
    ),
    _write(
        "exchange_delivered_order_items",
        ReplaceItems,
        "Ask for items of a delivered order to be exchanged for other variants of the same products. One call for all "
        "items: the order can be neither exchanged nor returned after it. Answers the order as it is then.",
    ),
    _read(
        "find_user_id_by_email",
        Email,
        "Find the customer's id by e-mail address: the first way to learn who is speaking.",
        returns=TEXT,
    ),
    _read(
        "find_user_id_by_name_zip",
        NameZip,
        "Find the customer's id by name and postal code, where the e-mail address is not known or not found.",
        returns=TEXT,
    ),
    _read(
        "get_order_details",
        OrderArguments,
        "An order: its status, items with item and product ids, options and prices, address, deliveries and payments.",
        returns=OrderRecord,
    ),
    _read(
        "get_product_details",
        ProductArguments,
        "A product and all its variants: item id, options, price, and whether it is available.",
        returns=ProductRecord,
    ),
    _read(
        "get_user_details",
        UserArguments,
        "A customer: name, address, e-mail, payment methods with gift card balances, and the ids of all orders.",
        returns=UserRecord,
    ),
    _read(
        "list_all_product_types",
        NoArguments,
        "All products of the store, by name, with their product ids.",
        returns=PRODUCT_IDS,
    ),
    _write(
        "modify_pending_order_address",
        OrderAddress,
        "Replace the shipping address of a pending order. Answers the order as it is then.",
    ),
    _write(
        "modify_pending_order_items",
        ReplaceItems,
        "Replace items of a pending order by other variants of the same products. Once per order, so one call for all "
        "items; nothing else can be changed in the order afterwards. Answers the order as it is then.",
    ),
    _write(
        "modify_pending_order_payment",
        Payment,
        "Pay a pending order with another payment method of the customer; the first one is refunded. "
        "Answers the order as it is then.",
    ),
    _write(
        "modify_user_address",
        UserAddress,
        "Replace a customer's default address; orders keep theirs. Answers the customer's details as they are then.",
        returns=UserRecord,
    ),
    _write(
        "return_delivered_order_items",
        ReturnItems,
        "Ask for items of a delivered order to be returned, with the refund to the method it was paid with or to a "
        "gift card. The order can be neither returned nor exchanged after it. Answers the order as it is then.",
    ),
    _read("think", Thought, "Write a thought down. It changes nothing and finds nothing out.", returns=TEXT),
    _read(
        "transfer_to_human_agents",
        TransferArguments,
        "Hand the customer over to a person, where none of the other tools can do what is asked, or on request.",
        hands_over=True,
        returns=TEXT,
    ),
)
SPECS = tuple(tool.spec(ORIGIN) for tool in TOOLS)
REQUIRED: dict[str, tuple[str, ...]] = {tool.name: tuple(tool.arguments.model_fields) for tool in TOOLS}  # type: ignore[union-attr]
