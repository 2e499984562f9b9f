"""The sample store: its size, references and invariants, and identical bytes for the same seed."""

import json

from packs.retail.generate import generate
from packs.retail.records import fingerprint

SEED_7_FINGERPRINT = "e14577d4d8015b16e0d99c636454cd5209dc0f412972c3b9bb9c37d733c830cb"


def test_the_same_seed_gives_the_same_bytes() -> None:
    """The order of keys, too: the results of the tools show it."""
    assert json.dumps(generate()) == json.dumps(generate(7))
    assert fingerprint(generate()) == SEED_7_FINGERPRINT, (
        "the sample store changed: results that documents quote from it are out of date"
    )


def test_documents_share_no_objects() -> None:
    """Changing an order must not change the catalogue, a user or another order."""
    data = generate()
    before = json.dumps([data["products"], data["users"]])
    for order in data["orders"].values():
        order["address"]["city"] = "Nowhere"
        for item in order["items"]:
            item["options"]["color"] = item["name"] = "changed"
    assert json.dumps([data["products"], data["users"]]) == before
