"""No rule of the session reads its transcript, which feeds prompts and screens: its words and limits decide nothing."""

import ast
from pathlib import Path

import pytest

from tests.unit.test_architecture import forbidden_imports, is_within, name, nodes, sources

# They make it, tell prompts what it says, and hand it over to a fork.
TELL = ("shared/domain/transcript", "shared/domain/transcript_queries", "shared/domain/forks")
RULES = tuple(path for path in sources("shared/domain") if not is_within(path, *TELL))


def test_no_other_module_of_the_domain_reads_it() -> None:
    assert "shared/domain/rules/decide.py" in map(name, RULES)
    assert [f"{name(path)}:{line}" for path in RULES for line in sorted(transcript_reads(path))] == []


def test_only_evolve_imports_what_makes_it_and_nothing_imports_what_it_says() -> None:
    readers = forbidden_imports(RULES, "shared.domain.transcript.entries", "shared.domain.transcript.queries")
    assert readers == [
        "shared/domain/kernel/evolve.py imports shared.domain.transcript.entries",
        "shared/domain/kernel/evolve.py imports shared.domain.transcript.entries.with_transcript",
    ]


def transcript_reads(path: Path) -> set[int]:
    """The lines that name a session's transcript in any way but as a field of its class."""
    lines: set[int] = set()
    for node in nodes(path):
        match node:
            case ast.Attribute(attr="transcript") | ast.Constant(value="transcript") | ast.keyword(arg="transcript"):
                lines.add(node.lineno)
            case ast.MatchClass() if "transcript" in node.kwd_attrs:
                lines.add(node.lineno)
            case _:
                pass
    return lines


@pytest.mark.parametrize(
    "source",
    [
        "x = session.transcript",
        "if any(said.kind for said in at.session.transcript):\n    pass",
        'x = getattr(session, "transcript")',
        'x = vars(session)["transcript"]',
        "y = replace(session, transcript=())",
        "match session:\n    case Session(transcript=()):\n        pass",
    ],
)
def test_every_way_of_reading_it_is_detected(tmp_path: Path, source: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(source)
    assert transcript_reads(module)
