"""Deeds that no wish accounts for, such as those of a person who took over: told by what was called."""

from collections import defaultdict

from rehearsal.retail.planning import Overview, deed_of
from rehearsal.retail.state import FINDERS, HANDOVER, KINDS, Deed, State

TOLD = {
    "cancel_pending_order": "order {order_id} was cancelled ({reason})",
    "modify_pending_order_address": "order {order_id} is sent to {address1} {address2}, {city}, {state} {zip}",
    "modify_pending_order_payment": "order {order_id} is paid with {payment_method_id}",
    "modify_pending_order_items": "items of order {order_id} were changed to {new_item_ids}",
    "return_delivered_order_items": "the return of {item_ids} from order {order_id} was requested",
    "exchange_delivered_order_items": "the exchange of {item_ids} for {new_item_ids} in order {order_id} was requested",
    "modify_user_address": "the address of the account is now {address1} {address2}, {city}, {state} {zip}",
}
QUIET = frozenset((*FINDERS, *KINDS, HANDOVER, "list_all_product_types", "calculate", "think"))


def besides(state: State, overview: Overview) -> list[Deed]:
    """What was done, and is no wish's own write."""
    known = {id(deed) for write in overview.writes if (deed := deed_of(state, write))}
    known |= {id(deed) for one in overview.outcomes for w in one.writes if (deed := deed_of(state, w))}
    return [deed for deed in state.deeds if deed.fine and deed.tool not in QUIET and id(deed) not in known]


def told_besides(deeds: list[Deed]) -> list[str]:
    return [f"This was done besides: {_told(deed)}." for deed in deeds]


def _told(deed: Deed) -> str:
    if deed.tool not in TOLD:
        return f"{deed.tool} answered {deed.result[:200]}"
    texts = {name: ", ".join(map(str, one)) if isinstance(one, list) else one for name, one in deed.arguments.items()}
    return " ".join(TOLD[deed.tool].format_map(defaultdict(str, texts)).split()).replace(" ,", ",")
