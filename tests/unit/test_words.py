"""The texts in parley/protocol/words and web/src/words.ts: code uses each one, and repeats no sentence of them."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.protocol.words import CATALOGUE as SHARED
from parley.protocol.words import OPTIONS, REASONS
from scripts.generate import ROOT
from shared.domain.kernel import state_names
from shared.domain.plan.policy import REASONS as RECORDED

OWN = ROOT / "web/src/words.ts"
PAGE = sorted(path for path in (ROOT / "web/src").rglob("*.ts*") if path.parent.name != "generated" and path != OWN)
TERMINAL = sorted((ROOT / "cli").rglob("*.py"))
SERVER = sorted(
    path
    for part in ("services", "shared", "parley")
    for path in (ROOT / part).rglob("*.py")
    if path.parent.name != "words"
)
STRING = re.compile(r'"([^"\n\\]*)"|`([^`\\]*)`|>\s*([^<>{}]*[^<>{}\s])\s*<')
PLACE = re.compile(r"\{([^{}]*)\}")


def words_of_the_page() -> dict[str, dict[str, str]]:
    sections = re.findall(
        r"^export const (\w+) = \{\n(.*?)^\} as const;", OWN.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    texts = re.compile(r'^  (\w+):\s+(".*"),$', re.MULTILINE)
    return {name: {key: json.loads(text) for key, text in texts.findall(body)} for name, body in sections}


CATALOGUE = {**SHARED, **words_of_the_page()}


def sentences() -> dict[str, str]:
    """The section and key of each text with at least three words."""
    texts = {text: f"{name}[{key}]" for name, section in CATALOGUE.items() for key, text in section.items()}
    return {text: at for text, at in texts.items() if len(text.split()) >= 3}


def literals(path: Path) -> Iterator[str]:
    source = path.read_text("utf-8")
    if path.suffix == ".py":
        strings = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
        yield from (text for text in strings if isinstance(text, str))
        return
    for match in STRING.finditer(source):
        yield " ".join(next(filter(None, match.groups()), "").split())


def test_no_sentence_is_repeated_in_the_page_or_terminal() -> None:
    known = sentences()
    duplicates = {
        f"{path.relative_to(ROOT)}: {known[text]}"
        for path in (*PAGE, *TERMINAL)
        if ".test." not in path.name
        for text in literals(path)
        if text in known
    }
    assert not duplicates, "these are in parley/protocol/words: " + ", ".join(sorted(duplicates))


def test_every_text_is_used() -> None:
    source = "\n".join(path.read_text("utf-8") for path in (*PAGE, *TERMINAL, *SERVER))
    catalogue_source = "\n".join(path.read_text("utf-8") for path in (ROOT / "parley/protocol/words").glob("*.py"))
    unused = [
        f"{name}[{key}]"
        for name, section in CATALOGUE.items()
        if not _by_key(name, source)
        for key in section
        if not re.search(rf"""\b{_alias(name)}(\.{key}\b|\[["']{key}["']\])""", source)
        and f'{name}["{key}"]' not in catalogue_source
    ]
    assert not unused, f"unused: {', '.join(unused)}"


def _alias(name: str) -> str:
    return "(?:COMMANDS|HELP)" if name == "COMMANDS" else name


def _by_key(name: str, source: str) -> bool:
    """Whether code looks texts of this section up by a key that is not a literal."""
    return bool(re.search(rf"wordFor\({name},|\b{name}\[[^\"'\]]|\b{name}\.get\(|{name} as ", source))


def test_placeholders_are_plain_names() -> None:
    places = {place for section in CATALOGUE.values() for text in section.values() for place in PLACE.findall(text)}
    assert {place for place in places if not re.fullmatch("[a-z]+", place)} == set()


def test_no_text_is_empty_or_has_space_around_it() -> None:
    texts = [text for section in CATALOGUE.values() for text in section.values()]
    assert [text for text in texts if not text or text != text.strip()] == []


def test_recorded_reasons_and_options_have_labels() -> None:
    assert REASONS.keys() == set(RECORDED.values())
    assert OPTIONS.keys() == {getattr(state_names, name) for name in vars(state_names) if name.startswith("OPTION_")}


@pytest.mark.parametrize("name", CATALOGUE)
def test_section_names_are_valid_imports(name: str) -> None:
    assert re.fullmatch("[A-Z][A-Z_]*", name)
