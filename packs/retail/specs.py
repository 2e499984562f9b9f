"""The specifications of the sixteen tools, with parameters in the order of the functions.

They are not bound to a store: `packs.retail.pack` does that.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from packs.retail.known_records import shows_change
from packs.retail.policy import call_violations
from packs.retail.results import PRODUCT_IDS, TEXT, OrderRecord, ProductRecord, UserRecord
from packs.retail.writes import Reason
from parley import Context, Failed, PastCall, Tool

ORIGIN = "retail"
TIMEOUT = 60.0

OrderId = Annotated[str, Field(description="The order's id, like #W0000000.")]
UserId = Annotated[str, Field(description="The customer's id, like ann_lee_1234.")]
MethodId = Annotated[str, Field(description="One of the customer's own, from get_user_details: gift_card_0000000.")]
Zip = Annotated[str, Field(description="As text: 02134.")]
ItemIds = Annotated[list[str], Field(description="Items in the order; one meant twice is named twice.")]
NewItems = Annotated[list[str], Field(description="The n-th replaces the n-th of item_ids.")]


class Arguments(BaseModel):
    """The arguments of one tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Calculate(Arguments):
    expression: Annotated[str, Field(description="Digits, + - * / ( ) . and spaces only, like (12.50 + 3) * 2.")]


class CancelOrder(Arguments):
    order_id: OrderId
    reason: Annotated[Reason, Field(description="The customer's.")]


class ReplaceItems(Arguments):
    order_id: OrderId
    item_ids: ItemIds
    new_item_ids: NewItems
    payment_method_id: MethodId


class Email(Arguments):
    email: Annotated[str, Field(description="Capitals do not matter.")]


class NameZip(Arguments):
    first_name: str
    last_name: str
    zip: Zip


class OrderArguments(Arguments):
    order_id: OrderId


class ProductArguments(Arguments):
    product_id: Annotated[str, Field(description="No item's id: both have ten digits.")]


class UserArguments(Arguments):
    user_id: UserId


class NoArguments(Arguments):
    pass


class _Address(Arguments):
    address1: str
    address2: Annotated[str, Field(description="Apartment or suite, or an empty text.")]
    city: str
    state: Annotated[str, Field(description="Two letters: CA.")]
    country: str
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
    item_ids: ItemIds
    payment_method_id: MethodId


class Thought(Arguments):
    thought: str


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
        "Cancel a whole order that is pending. All that was paid is refunded: to a gift card at once, to other payment "
        "methods within 5 to 7 days.",
    ),
    _write(
        "exchange_delivered_order_items",
        ReplaceItems,
        "Exchange items of a delivered order for available variants of the same products; the payment method takes the "
        "difference. One call for all items: nothing of the order can be exchanged or returned after it.",
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
        "Find the customer's id by name and postal code, if it is not found by e-mail.",
        returns=TEXT,
    ),
    _read(
        "get_order_details",
        OrderArguments,
        "An order: status, items with their ids, options and prices, address, deliveries and payments.",
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
        "Replace the shipping address of a pending order.",
    ),
    _write(
        "modify_pending_order_items",
        ReplaceItems,
        "Replace items of a pending order by available variants of the same products; the payment method takes the "
        "difference. One call for all items: nothing can be changed in the order after it.",
    ),
    _write(
        "modify_pending_order_payment",
        Payment,
        "Pay a pending order with another payment method; the first one is refunded. A gift card must cover it all.",
    ),
    _write(
        "modify_user_address",
        UserAddress,
        "Replace a customer's default address; orders keep theirs.",
        returns=UserRecord,
    ),
    _write(
        "return_delivered_order_items",
        ReturnItems,
        "Return items of a delivered order; the refund goes to the method it was paid with or to a gift card. One call "
        "for all items: nothing of the order can be returned or exchanged after it.",
    ),
    _read(
        "think", Thought, "Write a thought down. It changes nothing and finds nothing out.", returns=TEXT, offered=False
    ),
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
