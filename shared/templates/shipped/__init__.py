"""The templates that come with Parley. All users can use and copy them."""

from functools import cache
from pathlib import Path

from parley.protocol.templates import Template
from shared.templates.documents import read_template

PREFIX = "parley-"


@cache
def shipped_templates() -> dict[str, Template]:
    """By id, in the order of their file names."""
    files = sorted(Path(__file__).parent.glob("*.yaml"))
    return {PREFIX + file.stem: read_template(file.read_text(encoding="utf-8"), "yaml") for file in files}
