"""The sixteen tools of the store by name, and a function that calls one: arguments in, the exact result text out."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from packs.retail import reads, writes
from packs.retail.records import Records
from packs.retail.specs import REQUIRED

Tool = Callable[..., str]

READS: dict[str, Tool] = {
    tool.__name__: tool
    for tool in (
        reads.calculate,
        reads.find_user_id_by_email,
        reads.find_user_id_by_name_zip,
        reads.get_order_details,
        reads.get_product_details,
        reads.get_user_details,
        reads.list_all_product_types,
        reads.think,
        reads.transfer_to_human_agents,
    )
}
WRITES: dict[str, Tool] = {
    tool.__name__: tool
    for tool in (
        writes.cancel_pending_order,
        writes.exchange_delivered_order_items,
        writes.modify_pending_order_address,
        writes.modify_pending_order_items,
        writes.modify_pending_order_payment,
        writes.modify_user_address,
        writes.return_delivered_order_items,
    )
}
TOOLS = READS | WRITES
# Errors that arguments can cause; they become error results for the model. A database failure propagates.
_ANSWERABLE_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
    writes.CallRefused,
)


def perform(records: Records, name: str, arguments: Mapping[str, JsonValue]) -> str:
    """The tool's result. A refusal begins with "Error: " and has not changed the records.

    Types are not checked beforehand, as in tau-bench: a number instead of a text id is simply not found.
    """
    if name not in TOOLS:
        return f"Unknown action {name}"
    wrong = [f"{parameter} is missing" for parameter in REQUIRED[name] if parameter not in arguments]
    wrong += [f"{parameter} is not a parameter of it" for parameter in arguments if parameter not in REQUIRED[name]]
    if wrong:
        return f"Error: {name} takes {', '.join(REQUIRED[name]) or 'no arguments'}: {', '.join(wrong)}"
    try:
        return TOOLS[name](records, *(arguments[parameter] for parameter in REQUIRED[name]))
    except _ANSWERABLE_ERRORS as error:
        return f"Error: {error}"
