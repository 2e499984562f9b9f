"""Evaluates arithmetic from untrusted text as Python would, and refuses expressions that would take too long.

The syntax tree is evaluated with an explicit stack, so its depth does not matter. The cost of operations on large
integers is computed beforehand, so `9**9**9` is refused at once.
"""

import ast
import operator
from collections.abc import Callable
from typing import Any

ALLOWED = "0123456789+-*/(). "
MAX_EXPRESSION = 10_000  # characters
MAX_WORK = 10**11  # products of bit lengths, summed over the operations: about a tenth of a second

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
    """The value. Raises what Python would raise, and ValueError for an expression that would take too long."""
    if len(expression) > MAX_EXPRESSION:
        raise ValueError(f"the expression is longer than {MAX_EXPRESSION} characters")
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
        if work > MAX_WORK:
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
        case ast.Call() if operands:  # "2(3)": Python would call the first operand
            raise TypeError(f"'{type(operands[0]).__name__}' object is not callable")
        case _:
            raise ValueError("this is not arithmetic")


def _work(node: ast.expr, operands: list[Any]) -> int:
    """The cost of an operation before it runs; small numbers and fractions cost nothing."""
    if not isinstance(node, ast.BinOp) or not all(isinstance(value, int) for value in operands):
        return 0
    left, right = operands
    if isinstance(node.op, ast.Pow):
        bits = left.bit_length() * right if abs(left) > 1 and right > 0 else 0
        return int(bits * bits)
    return int(left.bit_length() * right.bit_length())
