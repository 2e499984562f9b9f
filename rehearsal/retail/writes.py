"""A write as it is planned, with what it means in words."""

from dataclasses import dataclass

from rehearsal.retail.state import Call, Document, Refused
from rehearsal.retail.words import listing


@dataclass(frozen=True)
class Write(Call):
    """A call that changes something. `told`: what it does, in the words of the answer once it is done."""

    text: str = ""
    told: str = ""


def write(tool: str, text: str, told: str, **arguments: object) -> Write:
    return Write(tool, arguments, text, told)


def needs(order: Document, status: str, done: str) -> None:
    """Raises Refused where the order is in another state."""
    if order["status"] != status:
        raise Refused(f"order {order['order_id']} is {order['status']}, and only {status} orders can be {done}.")


def names(order: Document) -> str:
    return listing([item["name"].lower() for item in order["items"]])
