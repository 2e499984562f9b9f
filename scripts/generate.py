"""Write the documents that are made from the code: `make docs`.

    python scripts/generate.py            write them
    python scripts/generate.py --check    change nothing; list those that are not as they would be written, exit 1

The same code always gives the same bytes.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]

from scripts.gen_asyncapi import asyncapi  # noqa: E402  only now can they be found
from scripts.gen_contract import CONTRACT, contract  # noqa: E402
from scripts.gen_events import events_md  # noqa: E402
from scripts.gen_nats import users_conf  # noqa: E402
from scripts.gen_page_words import words_text  # noqa: E402
from scripts.gen_protocol import protocol_md  # noqa: E402
from scripts.gen_reach import reach  # noqa: E402
from scripts.gen_rest import openapi  # noqa: E402
from scripts.gen_settings import settings_md  # noqa: E402
from scripts.gen_words import unused  # noqa: E402
from scripts.gen_workflows import workflows_md  # noqa: E402
from scripts.protocol_schema import schema_text  # noqa: E402

DOCS = ROOT / "docs"
DEPLOY = ROOT / "deploy"


def documents() -> dict[Path, str]:
    """Every generated file with the text it should have. Raises LookupError where words are missing or left over."""
    reached = reach()
    found = {
        DOCS / "events.md": events_md(reached),
        DOCS / "protocol.md": protocol_md(),
        DOCS / "settings.md": settings_md(),
        DOCS / "workflows.md": workflows_md(reached),
        DOCS / "asyncapi.json": _json(asyncapi(reached)),
        DOCS / "openapi.json": _json(openapi()),
        DOCS / "protocol.schema.json": schema_text(),
        DOCS / "words.json": words_text(),
        DEPLOY / "nats-users.conf": users_conf(),
        DEPLOY / "kubernetes" / "base" / "nats-users.conf": users_conf(),  # kustomize takes no file from outside
        CONTRACT: contract(),
    }
    if left := unused():
        raise LookupError(f"scripts/gen_words.py has words that no field has: {', '.join(left)}")
    return {path: text.rstrip("\n") + "\n" for path, text in found.items()}


def stale() -> list[Path]:
    """The generated files that are not as the code would write them now."""
    return [path for path, text in documents().items() if not path.exists() or path.read_text("utf-8") != text]


def _json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False, sort_keys=True)


def main() -> int:
    if "--check" in sys.argv[1:]:
        found = stale()
        for path in found:
            sys.stdout.write(f"stale: {path.relative_to(ROOT)} (run `make docs`)\n")
        return 1 if found else 0
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"written: {path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
