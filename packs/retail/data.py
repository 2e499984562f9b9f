"""The data of a retail store: its types, loading from tau-bench's files, and its fingerprint."""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal, TypedDict, cast, get_args

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
