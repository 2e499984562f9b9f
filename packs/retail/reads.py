"""The tools that look something up, and the three that use no document."""

import ast
import json
import operator
from collections.abc import Callable
from typing import Any

from pydantic import JsonValue

from packs.retail.records import Kind, Records

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


def find_user_id_by_email(records: Records, email: str) -> str:
    return records.index.by_email.get(email.lower(), "Error: user not found")


def find_user_id_by_name_zip(records: Records, first_name: str, last_name: str, zip: str) -> str:  # noqa: A002
    for user_id, last in records.index.ids_by_first_name.get(first_name.lower(), []):
        if last == last_name.lower() and (user := records.get("users", user_id)) and user["address"]["zip"] == zip:
            return user_id
    return "Error: user not found"


def _details(records: Records, kind: Kind, document_id: JsonValue) -> str:
    document = records.get(kind, document_id)
    return f"Error: {kind[:-1]} not found" if document is None else json.dumps(document)


def get_user_details(records: Records, user_id: str) -> str:
    return _details(records, "users", user_id)


def get_order_details(records: Records, order_id: str) -> str:
    return _details(records, "orders", order_id)


def get_product_details(records: Records, product_id: str) -> str:
    return _details(records, "products", product_id)


def list_all_product_types(records: Records) -> str:
    return records.index.product_types


def calculate(_: Records, expression: str) -> str:
    if not all(char in ALLOWED for char in expression):
        return "Error: invalid characters in expression"
    if not isinstance(expression, str):  # a list of such characters passes the check above
        raise TypeError("eval() arg 1 must be a string, bytes or code object")
    return str(round(float(evaluate(expression)), 2))


def think(_: Records, thought: str) -> str:
    return ""


def transfer_to_human_agents(_: Records, summary: str) -> str:
    return "Transfer successful"
