"""Conditions: small expressions over named values, like `kind == "general" or not tables`.

A condition consists of names, texts, numbers, True, False, None, lists of these, comparisons, `in`, `and`, `or` and
`not`. Nothing else is allowed, so a condition cannot harm the process. A name that is not in the state is None. Values
that cannot be compared are not smaller, not greater and not in each other. A condition that parses has a value in every
state. Flows use conditions to choose the next node, plans to decide when to stop polling.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import JsonValue

MAX_LENGTH = 500  # characters
MAX_DEPTH = 50  # levels of nesting, so that no condition is too deep for the stack
MAX_QUOTE = 80  # characters of a quoted part
ALLOWED = "names, texts, numbers, True, False, None, lists, comparisons, in, and, or, not"
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.eq,  # values of a state have no identity
    ast.IsNot: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}


class BadCondition(ValueError):
    """The text is not a condition; the message says why."""


class Condition:
    """One expression, checked when it is made. Raises BadCondition."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._tree = _parse(text)
        _check(self._tree, text.strip())
        self.names = frozenset(node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name))

    def holds(self, state: Mapping[str, JsonValue]) -> bool:
        return bool(_value(self._tree, state))


def _parse(text: str) -> ast.expr:
    if len(text) > MAX_LENGTH:
        raise BadCondition(f"it has {len(text)} characters; {MAX_LENGTH} are allowed")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise BadCondition(f"“{text}” is no expression: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError):
        raise BadCondition(f"“{text[:MAX_QUOTE]}” cannot be read") from None


def _check(tree: ast.expr, text: str, levels: int = MAX_DEPTH) -> None:
    if levels == 0:
        raise BadCondition(f"“{text[:MAX_QUOTE]}” is nested more than {MAX_DEPTH} levels deep")
    match tree:
        case ast.Name():
            return
        case ast.Constant(value=str() | int() | float() | None):  # a bool is an int
            return
        case ast.UnaryOp(op=ast.Not()) | ast.BoolOp() | ast.Compare() | ast.List() | ast.Tuple():
            for part in ast.iter_child_nodes(tree):
                if isinstance(part, ast.expr):
                    _check(part, text, levels - 1)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return
        case _:
            part_text = (ast.get_source_segment(text, tree) or text)[:MAX_QUOTE]
            raise BadCondition(f"“{part_text}” is more than a condition may hold: {ALLOWED}")


def _value(tree: ast.expr, state: Mapping[str, JsonValue]) -> JsonValue:  # noqa: PLR0911  one line a kind
    match tree:
        case ast.Name(id=name):
            return state.get(name)
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, state) for part in parts]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.UnaryOp(operand=part):
            return not _value(part, state)
        case ast.BoolOp(op=op, values=parts):
            return _bool_op(isinstance(op, ast.And), parts, state)
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _compare(left, ops, others, state)
    raise AssertionError(f"{ast.dump(tree)} was not checked")


def _bool_op(is_and: bool, parts: list[ast.expr], state: Mapping[str, JsonValue]) -> JsonValue:
    """The operand that decides, as in Python: `(repairs or 0) < 2`."""
    value: JsonValue = None
    for part in parts:
        value = _value(part, state)
        if bool(value) != is_and:
            break
    return value


def _compare(left: ast.expr, ops: list[ast.cmpop], others: list[ast.expr], state: Mapping[str, JsonValue]) -> JsonValue:
    first = _value(left, state)
    for op, part in zip(ops, others, strict=True):
        other = _value(part, state)
        try:
            true = bool(_COMPARE[type(op)](first, other))
        except TypeError:
            true = isinstance(op, ast.NotIn)
        if not true:
            return False
        first = other
    return True
