"""Arithmetic from untrusted text: what Python's own evaluation would answer, refused where it would take long.

The syntax tree is walked with a stack of values, so neither depth nor length of an expression matters; the work on
large whole numbers is counted beforehand, so `9**9**9` is refused at once.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

ALLOWED = "0123456789+-*/(). "
LONGEST = 10_000  # characters
MOST_WORK = 10**11  # bits times bits of whole numbers, summed over the operations: about a tenth of a second

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


def evaluate(expression: str) -> Any:
    """The value; raises whatever Python would raise, and ValueError for what would take too long."""
    if len(expression) > LONGEST:
        raise ValueError(f"the expression is longer than {LONGEST} characters")
    tree: Any = compile(expression.lstrip(" "), "<string>", "eval", ast.PyCF_ONLY_AST)
    waiting, program = [tree.body], []
    while waiting:
        node = waiting.pop()
        program.append(node)
        waiting.extend(_operands(node))
    values: list[Any] = []
    work = 0
    for node in reversed(program):  # operands first, from left to right
        count = len(_operands(node))
        operands = values[len(values) - count :]
        del values[len(values) - count :]
        work += _work(node, operands)
        if work > MOST_WORK:
            raise ValueError("the numbers are too large to calculate with")
        values.append(_apply(node, operands))
    return values[0]


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.UnaryOp():
            return [node.operand]
        case ast.Call(keywords=[]):
            return [node.func, *node.args]
        case _:
            return []


def _apply(node: ast.expr, operands: list[Any]) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.BinOp():
            return _BINARY[type(node.op)](*operands)
        case ast.UnaryOp():
            return _UNARY[type(node.op)](*operands)
        case ast.Tuple(elts=[]):
            return ()
        case ast.Call() if operands:  # "2(3)": Python takes the first for a function
            raise TypeError(f"'{type(operands[0]).__name__}' object is not callable")
        case _:
            raise ValueError("this is not arithmetic")


def _work(node: ast.expr, operands: list[Any]) -> int:
    """How much there is to do, before it is done; small numbers and fractions cost nothing worth counting."""
    if not isinstance(node, ast.BinOp) or not all(isinstance(value, int) for value in operands):
        return 0
    left, right = operands
    if isinstance(node.op, ast.Pow):
        bits = left.bit_length() * right if abs(left) > 1 and right > 0 else 0
        return int(bits * bits)
    return int(left.bit_length() * right.bit_length())
