"""The shape of a retail store's data, reading it from a folder as tau-bench keeps it, and telling two stores apart."""

import hashlib
import json
from pathlib import Path
from typing import Any, Literal, TypedDict, cast, get_args

Kind = Literal["users", "products", "orders"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Document = dict[str, Any]
Documents = dict[str, Document]


class Data(TypedDict):
    """All documents by id. The order of documents and of their keys shows in results, so it is kept."""

    users: Documents
    products: Documents
    orders: Documents


def load(folder: Path) -> Data:
    """Read users.json, products.json and orders.json. Raises ValueError that names the file at fault."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        path = folder / f"{kind}.json"
        try:
            found[kind] = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise ValueError(f"{path} cannot be read as the store's {kind}: {error}") from error
        if not isinstance(found[kind], dict) or not all(isinstance(one, dict) for one in found[kind].values()):
            raise ValueError(f"{path} should be one JSON object of {kind} by id.")
    return cast("Data", found)


def fingerprint(data: Data) -> str:
    """SHA-256 in hex over canonical JSON: the same for the same values in whatever order."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
