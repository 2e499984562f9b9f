"""A store in memory to replay calls on: the same tools as everywhere, nothing kept, cheap enough for one per task."""

import json
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from packs.retail.data import Data, Document, Kind
from packs.retail.records import Draft, Index, Stored
from packs.retail.tasks.task import TaskCall
from packs.retail.tools import perform

REFUSED = ("Error: ", "Unknown action ")
Changed = dict[tuple[Kind, str], Document]


class Shop:
    """The data that tasks are about, looked up once; `fresh()` is a new world in its first state."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.index = Index(data)

    def fresh(self) -> "Replay":
        return Replay(self)

    def after(self, calls: Iterable[TaskCall]) -> Changed:
        """What differs from the first state after these calls; calls that are refused change nothing."""
        world = self.fresh()
        for call in calls:
            world.call(call.name, call.arguments)
        return world.changed


class Replay:
    """One world. `changed` holds the documents that were written, as they are now, and only where they differ."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._written: Changed = {}

    @property
    def changed(self) -> Changed:
        data = self._shop.data
        return {at: document for at, document in self._written.items() if data[at[0]].get(at[1]) != document}

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> str:
        """The tool's exact result."""
        draft = Draft(self._shop.index, self._read)
        result = perform(draft, name, arguments)
        if not result.startswith(REFUSED):
            self._written |= draft.after
        return result

    def document(self, kind: Kind, document_id: str) -> Document | None:
        return self._written.get((kind, document_id)) or self._shop.data[kind].get(document_id)

    def _read(self, kind: Kind, document_id: str) -> Stored | None:
        found = self.document(kind, document_id)
        return None if found is None else Stored(0, json.dumps(found))
