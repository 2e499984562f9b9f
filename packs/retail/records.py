"""What the tools see of a world: its documents to read and to put back, and a few look-ups that never change.

No tool makes or removes a document, or changes a product, a name or an e-mail address: those are indexed once, when the
store is opened.
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
        """The caller's own to change, but for products. Raises TypeError for what cannot be an id, like a list."""
        ...

    def put(self, kind: Kind, document_id: str, document: Document) -> None: ...


class Index:
    """Look-ups over what stays as it was. `named`: by first name in lower case, ids with last names in lower case.

    `ids` are all that there are: of another the database is not even asked, which could not take every text as one.
    """

    def __init__(self, data: Data) -> None:
        self.ids: dict[Kind, frozenset[str]] = {kind: frozenset(data[kind]) for kind in KINDS}
        self.products: Documents = data["products"]
        names = {product["name"]: product["product_id"] for product in self.products.values()}
        self.product_types = json.dumps(dict(sorted(names.items())))
        self.by_email: dict[str, str] = {}
        self.named: dict[str, list[tuple[str, str]]] = {}
        for user_id, user in data["users"].items():
            self.by_email.setdefault(user["email"].lower(), user_id)
            first, last = user["name"]["first_name"].lower(), user["name"]["last_name"].lower()
            self.named.setdefault(first, []).append((user_id, last))


class Stored(NamedTuple):
    """A document as it lies in the store; `place` is its rank in the dump."""

    place: int
    body: str


class Draft:
    """Records whose changes are kept aside: whoever called decides whether they come true."""

    def __init__(self, index: Index, read: Callable[[Kind, str], Stored | None]) -> None:
        self.index = index
        self._read = read
        self.before: dict[tuple[Kind, str], Stored] = {}
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
