"""A tool's view of a world: its documents to read and write, and indexes that never change.

No tool creates or removes a document, or changes a product, a name or an e-mail address, so these are indexed once,
when the store is opened.
"""

import json
from collections.abc import Callable
from typing import NamedTuple, Protocol

from pydantic import JsonValue

from packs.retail.data import KINDS, Data, Document, Documents, Kind


class Records(Protocol):
    """One call's view of a world."""

    index: "Index"

    def get(self, kind: Kind, document_id: JsonValue) -> Document | None:
        """The document, which the caller may modify unless it is a product. Raises TypeError for an unhashable id."""
        ...

    def put(self, kind: Kind, document_id: str, document: Document) -> None: ...


class Index:
    """Indexes over data that never changes. `ids_by_first_name` has ids with last names; names are in lower case.

    `ids` are all existing ids: others are not looked up, because databases do not accept every text.
    """

    def __init__(self, data: Data) -> None:
        self.ids: dict[Kind, frozenset[str]] = {kind: frozenset(data[kind]) for kind in KINDS}
        self.products: Documents = data["products"]
        names = {product["name"]: product["product_id"] for product in self.products.values()}
        self.product_types = json.dumps(dict(sorted(names.items())))
        self.by_email: dict[str, str] = {}
        self.ids_by_first_name: dict[str, list[tuple[str, str]]] = {}
        for user_id, user in data["users"].items():
            self.by_email.setdefault(user["email"].lower(), user_id)
            first, last = user["name"]["first_name"].lower(), user["name"]["last_name"].lower()
            self.ids_by_first_name.setdefault(first, []).append((user_id, last))


class StoredDocument(NamedTuple):
    """A stored document. `place` is its position in a dump."""

    place: int
    body: str


class BufferedRecords:
    """Records that buffer their changes; the caller decides whether to save them."""

    def __init__(self, index: Index, read: Callable[[Kind, str], StoredDocument | None]) -> None:
        self.index = index
        self._read = read
        self.before: dict[tuple[Kind, str], StoredDocument] = {}
        self.after: dict[tuple[Kind, str], Document] = {}

    def get(self, kind: Kind, document_id: JsonValue) -> Document | None:
        hash(document_id)
        if not isinstance(document_id, str) or document_id not in self.index.ids[kind]:
            return None
        if kind == "products":
            return self.index.products[document_id]
        stored = self._read(kind, document_id)
        if stored is None:
            return None
        self.before[kind, document_id] = stored
        document: Document = json.loads(stored.body)
        return document

    def put(self, kind: Kind, document_id: str, document: Document) -> None:
        self.after[kind, document_id] = document
