"""Reads YAML and JSON that people write, strictly: text stays text, and nothing is lost or overwritten silently.

In YAML an unquoted word is a text, unless it is true, false, null, ~, or a number that loses nothing: 3, -0.5, 1.5e3,
but not 007, 1.10, 1e3, 1_000 or 12:30. Dates and yes, no, on, off are texts, too. A name is always a text.
A comment begins its line, or has a space after its #.
"""

import codecs
import json
import re
import unicodedata
from collections import Counter
from decimal import Decimal
from typing import Any

import yaml

BYTE_ORDER_MARK = "\ufeff"  # some editors write it before the text
MAX_DEPTH = 40  # levels of lists and objects in YAML
WORDS = {
    "null": "|~|null|Null|NULL",
    "bool": "true|True|TRUE|false|False|FALSE",
    "int": "0|-?[1-9][0-9]*",
    "float": r"-?(?:0|[1-9][0-9]*)\.(?:0|[0-9]*[1-9])(?:[eE][-+]?[0-9]+)?",
    "merge": "<<",
}
TAG = "tag:yaml.org,2002:"
_INEXACT = "cannot be kept exactly: round it, or put it in quotes"


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
    """The value; a byte order mark before it is skipped.

    Raises BadDocument, also for NaN, numbers that no float is exactly, and names given twice.
    """
    text = _without_mark(text)
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse_constant, parse_float=_exact_float)
    except json.JSONDecodeError as error:
        raise BadDocument(error.msg + _hint(text, error.lineno), error.lineno, error.colno) from None
    except BadDocument:
        raise
    except RecursionError:
        raise BadDocument("it is nested too deep") from None
    except (ValueError, ArithmeticError):
        raise BadDocument(f"it has a number that {_INEXACT}") from None


def read_yaml(text: str, *, max_values: int = 0) -> Any:
    """The value of the one document; a byte order mark before it, or after its first “---”, is skipped.

    A document with aliases may have `max_values` values, each alias counted as what it stands for; 0: no aliases.
    Raises BadDocument, also for names that occur twice, tags, numbers that no float is exactly, and a comment that may
    be part of a text.
    """
    text = re.sub(rf"\A(---[ \t]*\r?\n){BYTE_ORDER_MARK}", r"\1", _without_mark(text))
    if end := re.search("[\x85\u2028\u2029]", text):
        line = text.count("\n", 0, end.start()) + 1
        raise BadDocument(
            f"an invisible {_name(end[0])} ends a line in YAML: delete it, or write it as an escape", line, 1
        )
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
    text = text.removeprefix(BYTE_ORDER_MARK)
    if text.startswith(BYTE_ORDER_MARK):
        raise BadDocument(f"it begins with a second {_name(BYTE_ORDER_MARK)}, which is invisible: delete it", 1, 2)
    return text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise BadDocument(f"“{twice[:100]}” occurs twice in one object")
    return value


def _refuse_constant(name: str) -> None:
    raise BadDocument(f"{name} is not a JSON number")


def _exact_float(digits: str) -> float:
    """Raises ValueError or ArithmeticError if no float is exactly this number."""
    number = float(digits)
    if Decimal(repr(number)) != Decimal(digits):
        raise ValueError
    return number


def _hint(text: str, number: int) -> str:
    """What may be wrong in this line, counted from 1, that its reader cannot see or would not suspect."""
    line = "".join(text.split("\n")[number - 1 : number])
    invisible = [f"{_name(char)} in column {column}" for column, char in enumerate(line, 1) if _is_invisible(char)]
    if invisible:
        return f"; the line has an invisible {invisible[0]}"
    if "{{" in line:
        return "; put a text with {{…}} in quotes"
    return "; put a text with ? in quotes" if re.search(r"[\[{].*\?", line) else ""


def _is_invisible(char: str) -> bool:
    return char not in " \t\r" and unicodedata.category(char) in ("Cf", "Zs", "Cc")


def _name(char: str) -> str:
    word = "byte order mark" if char == BYTE_ORDER_MARK else unicodedata.name(char, "control character").lower()
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
        token: Any = super().scan_plain()
        if BYTE_ORDER_MARK in token.value:
            raise _refusal("a byte order mark can only stand at the beginning", token)
        self._check_comment(after_text=True)
        return token

    def scan_flow_scalar(self, style: str) -> Any:
        start = self.get_mark()
        try:
            token: Any = super().scan_flow_scalar(style)
            token.value = token.value.encode("utf-16", "surrogatepass").decode("utf-16")  # joins JSON's halves
        except (ValueError, OverflowError):
            raise yaml.MarkedYAMLError(
                problem="this text has an escape that is no character", problem_mark=start
            ) from None
        return token

    def scan_to_next_token(self) -> None:
        self._check_comment()
        super().scan_to_next_token()

    def scan_block_scalar_ignored_line(self, start_mark: yaml.Mark) -> None:
        self._check_comment()
        super().scan_block_scalar_ignored_line(start_mark)

    def _check_comment(self, *, after_text: bool = False) -> None:
        """Refuse “color: #fff” and “an order like #W1”: what follows the # would be lost.

        After an unquoted text, a comment may not begin an indented line either: the text could go on there.
        """
        scanner: Any = self
        while scanner.peek() == " ":
            scanner.forward()
        marks = 0
        while scanner.peek(marks) == "#":
            marks += 1
        if not marks or scanner.peek(marks) in "\0 \t\r\n":
            return
        before = scanner.buffer[scanner.pointer - scanner.column : scanner.pointer]
        if before.strip() or (after_text and scanner.column > scanner.indent):
            why = "a # begins a comment here, and a text would be lost: put it in quotes, or write “# ”"
            raise _refusal(why, scanner)

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
            return int(node.value) if node.tag == TAG + "int" else _exact_float(node.value)
        except (ValueError, ArithmeticError):
            raise _refusal(f"this number {_INEXACT}", node) from None


def _refusal(why: str, where: Any) -> yaml.MarkedYAMLError:
    mark = where.get_mark() if isinstance(where, _Loader) else where.start_mark
    return yaml.MarkedYAMLError(problem=why, problem_mark=mark)


for _kind, _pattern in WORDS.items():
    _Loader.add_implicit_resolver(TAG + _kind, re.compile(rf"(?:{_pattern})\Z"), None)
for _kind in ("int", "float"):
    _Loader.add_constructor(TAG + _kind, _Loader.construct_number)
_Loader.add_constructor(TAG + "merge", lambda _, node: node.value)  # a plain “<<” that is no name
