"""The sixteen tools of a retail store by name, and one way to call them: arguments in, the result's exact text out."""

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
# What arguments can cause: a model gets it as a text to learn from. A store that breaks off is nobody's answer.
_ANSWERED = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
    writes.Refused,
)


def perform(records: Records, name: str, arguments: Mapping[str, JsonValue]) -> str:
    """The tool's result. A refusal begins with "Error: "; then nothing was put into the records.

    Types are not checked beforehand, because tau-bench does not: a number where a text belongs is simply not found.
    """
    if name not in TOOLS:
        return f"Unknown action {name}"
    wrong = [f"{one} is missing" for one in REQUIRED[name] if one not in arguments]
    wrong += [f"{one} is not a parameter of it" for one in arguments if one not in REQUIRED[name]]
    if wrong:
        return f"Error: {name} takes {', '.join(REQUIRED[name]) or 'no arguments'}: {', '.join(wrong)}"
    try:
        return TOOLS[name](records, *(arguments[one] for one in REQUIRED[name]))
    except _ANSWERED as error:
        return f"Error: {error}"
