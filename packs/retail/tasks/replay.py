"""An in-memory store for replaying calls with the real tools, cheap enough for one per task."""

import json
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from packs.retail.data import Data, Document, Kind
from packs.retail.records import BufferedRecords, Index, StoredDocument
from packs.retail.tasks.task import ExpectedCall
from packs.retail.tools import perform

REFUSAL_PREFIXES = ("Error: ", "Unknown action ")
Changed = dict[tuple[Kind, str], Document]


class Shop:
    """The indexed data of the tasks. `fresh()` returns a new world in its initial state."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.index = Index(data)

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
        draft = BufferedRecords(self._shop.index, self._read)
        result = perform(draft, name, arguments)
        if not result.startswith(REFUSAL_PREFIXES):
            self._written |= draft.after
        return result

    def document(self, kind: Kind, document_id: str) -> Document | None:
        return self._written.get((kind, document_id)) or self._shop.data[kind].get(document_id)

    def _read(self, kind: Kind, document_id: str) -> StoredDocument | None:
        document = self.document(kind, document_id)
        return None if document is None else StoredDocument(0, json.dumps(document))
