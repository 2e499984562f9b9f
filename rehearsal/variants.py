"""Makes one variant of a program out of its source file (how they are marked: see `programs`)."""

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
    """The file as a program of its own, with the lines that these flags call for."""
    kept: list[str] = []
    inside = True
    for line in source(name).splitlines():
        if line.startswith("# ruff:"):
            continue
        if block := _BLOCK.fullmatch(line):
            inside = block[1] == "end" or _holds(block[1], flags)
        elif inside and (tail := _TAIL.fullmatch(line)):
            kept += [tail[1]] if _holds(tail[2], flags) else []
        elif inside:
            kept.append(line)
    text = _OUR_IMPORT.sub("import program", "\n".join(kept) + "\n")
    return _tidy(text)


def lines_of(name: str, flag: str, others: Iterable[str] = ()) -> set[str]:
    """The lines that a program has only with this flag: they tell whether a given code has it."""
    base = frozenset(others)
    plain = set(render(name, base - {flag}).splitlines())
    return {line for line in render(name, base | {flag}).splitlines() if line not in plain and len(line.strip()) > 3}


def _holds(condition: str, flags: frozenset[str]) -> bool:
    """Whether every flag named is set, and every one after `not` is not."""
    wanted = True
    for word in condition.split():
        if word == "not":
            wanted = False
            continue
        if (word in flags) is not wanted:
            return False
        wanted = True
    return True


def _tidy(text: str) -> str:
    """Empty lines as they should be, whatever blocks were left out: two around definitions, else one."""
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
