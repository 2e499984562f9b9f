"""Reads YAML and JSON that people write, strictly: text stays text, and nothing is lost or overwritten silently.

In YAML an unquoted word is a text, unless it is true, false, null, ~, or a number that loses nothing: 3, -0.5, 1.5e3,
but not 007, 1.10, 1e3, 1_000 or 12:30. Dates and yes, no, on, off are texts, too. A name is always a text.
"""

import codecs
import json
import re
import unicodedata
from collections import Counter
from typing import Any

import yaml

MARK = "\ufeff"  # the byte order mark that some editors write before the text
MAX_DEPTH = 40  # levels of lists and objects in YAML
WORDS = {
    "null": "|~|null|Null|NULL",
    "bool": "true|True|TRUE|false|False|FALSE",
    "int": "0|-?[1-9][0-9]*",
    "float": r"-?(?:0|[1-9][0-9]*)\.(?:0|[0-9]*[1-9])(?:[eE][-+]?[0-9]+)?",
    "merge": "<<",
}
TAG = "tag:yaml.org,2002:"


class BadDocument(ValueError):
    """The document cannot be read. `problem` says why and what to do, `line` where (0: unknown); no value is quoted."""

    def __init__(self, problem: str, line: int = 0, column: int = 0) -> None:
        super().__init__(f"{problem}, in line {line}, column {column}" if line else problem)
        self.problem = problem
        self.line = line


def decode(data: bytes) -> str:
    """The text of a file. Raises BadDocument if it is not UTF-8."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:4]:
        raise BadDocument("it is not UTF-8 text, but UTF-16 or UTF-32: save it as UTF-8")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadDocument("it is not UTF-8 text: save it as UTF-8", data[: error.start].count(b"\n") + 1, 1) from None


def read_json(text: str) -> Any:
    """The value; a byte order mark before it is skipped. Raises BadDocument, also for NaN and names given twice."""
    text = _without_mark(text)
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise BadDocument(error.msg + _hint(text, error.lineno), error.lineno, error.colno) from None
    except BadDocument:
        raise
    except RecursionError:
        raise BadDocument("it is nested too deep") from None
    except ValueError:
        raise BadDocument("it has too long a number") from None


def read_yaml(text: str, *, max_values: int = 0) -> Any:
    """The value of the one document; a byte order mark before it, or after its first “---”, is skipped.

    A document with aliases may have `max_values` values, each alias counted as what it stands for; 0: no aliases.
    Raises BadDocument, also for names that occur twice, tags, and a comment that cuts a text.
    """
    text = re.sub(rf"\A(---[ \t]*\r?\n){MARK}", r"\1", _without_mark(text))
    try:
        return _Loader(text, max_values).get_single_data()
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        words = ", ".join(filter(None, (error.context, error.problem)))
        raise BadDocument(words + _hint(text, mark.line + 1), mark.line + 1, mark.column + 1) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BadDocument(f"{_name(chr(error.character))} cannot stand in YAML", line, 1) from None


def _without_mark(text: str) -> str:
    text = text.removeprefix(MARK)
    if text.startswith(MARK):
        raise BadDocument(f"it begins with a second {_name(MARK)}, which is invisible: delete it", 1, 2)
    return text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise BadDocument(f"“{twice[:100]}” occurs twice in one object")
    return value


def _refuse_constant(name: str) -> None:
    raise BadDocument(f"{name} is not a JSON number")


def _hint(text: str, number: int) -> str:
    """What may be wrong in this line, counted from 1, that its reader cannot see or would not suspect."""
    line = "".join(text.split("\n")[number - 1 : number])
    invisible = [f"{_name(char)} in column {column}" for column, char in enumerate(line, 1) if _is_invisible(char)]
    if invisible:
        return f"; the line has an invisible {invisible[0]}"
    return "; put a text with {{…}} in quotes" if "{{" in line else ""


def _is_invisible(char: str) -> bool:
    return char not in " \t\r" and unicodedata.category(char) in ("Cf", "Zs", "Cc")


def _name(char: str) -> str:
    word = "byte order mark" if char == MARK else unicodedata.name(char, "control character").lower()
    return f"{word} (U+{ord(char):04X})"


class _Loader(yaml.SafeLoader):
    """PyYAML's loader with fewer types, and with limits that hold before any value is constructed.

    A few lines of aliases can stand for more values than fit into memory, and PyYAML shares the nodes of an alias.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  a class's own, as PyYAML has it

    def __init__(self, text: str, max_values: int) -> None:
        super().__init__(text)
        self._max_values = max_values
        self._depth = self._values = 0
        self._sizes: dict[yaml.Node, int] = {}

    def scan_plain(self) -> Any:
        """Refuse “an order like #W1”: what follows the # would be lost. “# ”, with a space, is a comment."""
        scanner: Any = self
        token: Any = super().scan_plain()
        if MARK in token.value:
            raise _refusal("a byte order mark can only stand at the beginning", token)
        if scanner.peek() == "#" and scanner.line == token.end_mark.line and scanner.peek(1) not in "\0 \t\r\n#":
            why = "the text ends here, as a # after a space begins a comment: put the text in quotes, or write “# ”"
            raise _refusal(why, scanner)
        return token

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        is_alias = isinstance(event, yaml.AliasEvent)
        if (is_alias or event.anchor) and not self._max_values:
            what = f"*{event.anchor} is an alias" if is_alias else f"&{event.anchor} is an anchor"
            raise _refusal(f"{what}: write each value out", event)
        if not is_alias and event.tag not in (None, "!"):
            raise _refusal(f"the tag {event.tag.replace(TAG, '!!')} is not supported", event)
        before = self._values
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _refusal(f"it has more than {MAX_DEPTH} levels of lists and objects", event)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is None:
            return None
        if is_alias and node not in self._sizes:
            raise _refusal(f"“{event.anchor}” is inside of itself", event)
        self._values += self._sizes[node] if is_alias else 1
        if self._values > self._max_values > 0:
            why = f"there are more than {self._max_values:,} values, each alias counted as what it stands for"
            raise _refusal(why, event)
        self._sizes.setdefault(node, self._values - before)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names: set[str] = set()
        for key, _ in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else None
            if name is None:
                raise _refusal("a name must be a text", key)
            if name in names:
                raise _refusal(f"“{name[:100]}” occurs twice", key)
            if not key.style and any(map(_is_invisible, name)):
                raise _refusal("this name has an invisible character", key)
            names.add(name)
        if self._max_values:
            self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=True) for key, value in node.value}

    def construct_number(self, node: yaml.ScalarNode) -> float:
        try:
            return int(node.value) if node.tag == TAG + "int" else float(node.value)
        except ValueError:
            raise _refusal("this number is too long", node) from None


def _refusal(why: str, where: Any) -> yaml.MarkedYAMLError:
    mark = where.get_mark() if isinstance(where, _Loader) else where.start_mark
    return yaml.MarkedYAMLError(problem=why, problem_mark=mark)


for _kind, _pattern in WORDS.items():
    _Loader.add_implicit_resolver(TAG + _kind, re.compile(rf"(?:{_pattern})\Z"), None)
for _kind in ("int", "float"):
    _Loader.add_constructor(TAG + _kind, _Loader.construct_number)
_Loader.add_constructor(TAG + "merge", lambda _, node: node.value)  # a plain “<<” that is no name
