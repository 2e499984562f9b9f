"""The schemas of the tools' results. The documents themselves are returned as stored."""

from typing import Any

from pydantic import BaseModel, ConfigDict

TEXT: dict[str, Any] = {"type": "string"}
PRODUCT_IDS: dict[str, Any] = {"type": "object", "additionalProperties": TEXT}  # by the product's name


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AddressRecord(_Record):
    address1: str
    address2: str
    city: str
    country: str
    state: str
    zip: str


class FullName(_Record):
    first_name: str
    last_name: str


class PaymentMethod(_Record):
    """A card has `brand` and `last_four`, a gift card `balance`."""

    source: str
    id: str
    brand: str | None = None
    last_four: str | None = None
    balance: float | None = None


class UserRecord(_Record):
    """`payment_methods` by their ids; `orders` are ids."""

    name: FullName
    address: AddressRecord
    email: str
    payment_methods: dict[str, PaymentMethod]
    orders: list[str]


class OrderItemRecord(_Record):
    name: str
    product_id: str
    item_id: str
    price: float
    options: dict[str, str]


class Fulfillment(_Record):
    tracking_id: list[str]
    item_ids: list[str]


class Transaction(_Record):
    transaction_type: str
    amount: float
    payment_method_id: str


class OrderRecord(_Record):
    """The last fields are there once the order was cancelled, returned or exchanged."""

    order_id: str
    user_id: str
    address: AddressRecord
    items: list[OrderItemRecord]
    fulfillments: list[Fulfillment]
    status: str
    payment_history: list[Transaction]
    cancel_reason: str | None = None
    return_items: list[str] | None = None
    return_payment_method_id: str | None = None
    exchange_items: list[str] | None = None
    exchange_new_items: list[str] | None = None
    exchange_payment_method_id: str | None = None
    exchange_price_difference: float | None = None


class VariantRecord(_Record):
    item_id: str
    options: dict[str, str]
    available: bool
    price: float


class ProductRecord(_Record):
    """`variants` by their item ids."""

    name: str
    product_id: str
    variants: dict[str, VariantRecord]
