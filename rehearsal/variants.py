"""Renders one variant of a program from its source file. `programs` describes the markers."""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

SECOND = "second"  # the flag of the other approach
_BLOCK = re.compile(r"\s*#: (.+)")
_TAIL = re.compile(r"(.*\S)  #: (.+)")
_OUR_IMPORT = re.compile(r"^from rehearsal\.programs import \w+ as program$", re.MULTILINE)


@cache
def source(name: str) -> str:
    """The text of `programs/<name>.py` with all variants in it."""
    return files("rehearsal.programs").joinpath(f"{name}.py").read_text(encoding="utf-8")


@cache
def render(name: str, flags: frozenset[str]) -> str:
    """The file as a standalone program, with the lines selected by these flags."""
    lines: list[str] = []
    inside = True
    for line in source(name).splitlines():
        if line.startswith("# ruff:"):
            continue
        if block := _BLOCK.fullmatch(line):
            inside = block[1] == "end" or _holds(block[1], flags)
        elif inside and (tail := _TAIL.fullmatch(line)):
            lines += [tail[1]] if _holds(tail[2], flags) else []
        elif inside:
            lines.append(line)
    text = _OUR_IMPORT.sub("import program", "\n".join(lines) + "\n")
    return _tidy(text)


def lines_of(name: str, flag: str, others: Iterable[str] = ()) -> set[str]:
    """The lines that a program has only with this flag, by which the flag is recognised in code."""
    base = frozenset(others)
    plain = set(render(name, base - {flag}).splitlines())
    return {line for line in render(name, base | {flag}).splitlines() if line not in plain and len(line.strip()) > 3}


def _holds(condition: str, flags: frozenset[str]) -> bool:
    """Whether every flag named is set, and every one after `not` is not."""
    is_required = True
    for word in condition.split():
        if word == "not":
            is_required = False
            continue
        if (word in flags) is not is_required:
            return False
        is_required = True
    return True


def _tidy(text: str) -> str:
    """Normalize blank lines after blocks were removed: two around definitions, else one."""
    out: list[str] = []
    for line in re.sub(r"\n{3,}", "\n\n", text).splitlines():
        before = next((earlier for earlier in reversed(out) if earlier), "")
        starts = line.startswith(("def ", "class ", "@")) and not before.startswith("@")
        ends = bool(out and not out[-1] and line and not line[0].isspace() and before.startswith(" "))
        if starts or ends:
            while out and not out[-1]:
                out.pop()
            out += ["", ""]
        out.append(line)
    return re.sub(r"(?<=:)\n\n+(?=[ ]{4,}def)", "\n", "\n".join(out)) + "\n"
