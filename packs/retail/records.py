"""The data of a retail store, and a tool's view of it: documents to read and write, and indexes that never change."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypedDict, cast, get_args

from pydantic import JsonValue

Kind = Literal["users", "products", "orders"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Document = dict[str, Any]
Documents = dict[str, Document]


class Data(TypedDict):
    """All documents by id. Their order and the order of their keys show in results, so both are preserved."""

    users: Documents
    products: Documents
    orders: Documents


def load(folder: Path) -> Data:
    """Read users.json, products.json and orders.json. Raises ValueError naming the bad file."""
    documents: dict[str, Any] = {}
    for kind in KINDS:
        path = folder / f"{kind}.json"
        try:
            documents[kind] = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise ValueError(f"{path} cannot be read as the store's {kind}: {error}") from error
        if not isinstance(documents[kind], dict) or not all(
            isinstance(document, dict) for document in documents[kind].values()
        ):
            raise ValueError(f"{path} should be one JSON object of {kind} by id.")
    return cast("Data", documents)


def fingerprint(data: Data) -> str:
    """SHA-256 in hex over canonical JSON, independent of the order of keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


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
