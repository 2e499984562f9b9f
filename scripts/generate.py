"""Generates documents from the code: `make docs`.

    python scripts/generate.py            write them
    python scripts/generate.py --check    list stale ones without writing; exit status 1 if there are any

The output is deterministic.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [] if str(ROOT) in sys.path else [str(ROOT)]

from scripts.gen_contract import CONTRACT, contract  # noqa: E402
from scripts.gen_events import events_md  # noqa: E402
from scripts.gen_nats import users_conf  # noqa: E402
from scripts.gen_protocol import protocol_md  # noqa: E402
from scripts.gen_settings import settings_md  # noqa: E402
from scripts.gen_workflows import workflows_md  # noqa: E402
from scripts.reachability import explore  # noqa: E402

DOCS = ROOT / "docs"
DEPLOY = ROOT / "deploy"


def documents() -> dict[Path, str]:
    """The text of every generated file. Raises LookupError for a field without a description."""
    reached = explore()
    texts = {
        DOCS / "events.md": events_md(reached),
        DOCS / "protocol.md": protocol_md(),
        DOCS / "settings.md": settings_md(),
        DOCS / "workflows.md": workflows_md(reached),
        DEPLOY / "nats-users.conf": users_conf(),
        DEPLOY / "kubernetes" / "base" / "nats-users.conf": users_conf(),  # kustomize reads no file outside its folder
        CONTRACT: contract(),
    }
    return {path: text.rstrip("\n") + "\n" for path, text in texts.items()}


def stale() -> list[Path]:
    """The generated files that differ from what the code generates now."""
    return [path for path, text in documents().items() if not path.exists() or path.read_text("utf-8") != text]


def main() -> int:
    if "--check" in sys.argv[1:]:
        stale_files = stale()
        for path in stale_files:
            sys.stdout.write(f"stale: {path.relative_to(ROOT)} (run `make docs`)\n")
        return 1 if stale_files else 0
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"written: {path.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
