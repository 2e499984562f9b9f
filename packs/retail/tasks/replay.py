"""An in-memory store for replaying calls with the real tools, cheap enough for one per task."""

import json
from collections.abc import Collection, Iterable, Mapping

from pydantic import JsonValue

from packs.retail.data import Data, Document, Kind
from packs.retail.known_records import CompletedCall
from packs.retail.records import BufferedRecords, Index, StoredDocument
from packs.retail.tasks.task import ExpectedCall
from packs.retail.tools import perform

REFUSAL_PREFIXES = ("Error: ", "Unknown action ")
Changed = dict[tuple[Kind, str], Document]


class Shop:
    """The indexed data of the tasks. `ids` are the existing ids, by the name of the argument that takes them.

    `fresh()` returns a new world in its initial state.
    """

    def __init__(self, data: Data) -> None:
        self.data = data
        self.index = Index(data)
        variants = {item for product in data["products"].values() for item in product["variants"]}
        methods = {method for user in data["users"].values() for method in user["payment_methods"]}
        self.ids: dict[str, Collection[str]] = {
            "order_id": data["orders"],
            "user_id": data["users"],
            "product_id": data["products"],
            "item_ids": variants,
            "new_item_ids": variants,
            "payment_method_id": methods,
        }

    def fresh(self) -> "Replay":
        return Replay(self)

    def after(self, calls: Iterable[ExpectedCall]) -> Changed:
        """The documents that differ from the initial state after these calls. Refused calls change nothing."""
        world = self.fresh()
        for call in calls:
            world.call(call.name, call.arguments)
        return world.changed


class Replay:
    """One world. `changed` has the documents that differ from the initial state."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._written: Changed = {}

    @property
    def changed(self) -> Changed:
        data = self._shop.data
        return {at: document for at, document in self._written.items() if data[at[0]].get(at[1]) != document}

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        """The tool's exact result."""
        return self.complete(name, arguments).result

    def complete(self, name: str, arguments: Mapping[str, JsonValue]) -> CompletedCall:
        """The call with its result."""
        draft = BufferedRecords(self._shop.index, self._read)
        result = perform(draft, name, arguments)
        is_done = not result.startswith(REFUSAL_PREFIXES)
        if is_done:
            self._written |= draft.after
        return CompletedCall(name, arguments, is_done, result)

    def _read(self, kind: Kind, document_id: str) -> StoredDocument | None:
        document = self._written.get((kind, document_id)) or self._shop.data[kind].get(document_id)
        return None if document is None else StoredDocument(0, json.dumps(document))
