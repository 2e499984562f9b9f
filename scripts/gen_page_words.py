"""docs/words.json: the catalogue of parley/protocol/words, from which the page's words are made."""

import json

from parley.protocol.words import CATALOGUE


def words_text() -> str:
    sections = {name: dict(section) for name, section in CATALOGUE.items()}
    return json.dumps(sections, indent=2, ensure_ascii=False, sort_keys=True)
