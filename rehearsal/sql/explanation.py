"""Explains a SELECT in words: its tables, columns, conditions, groups, order and limit. Nothing is run."""

import re

from rehearsal.sql.tokenizer import phrases

_PIECE = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|--[^\n]*|/\*.*?\*/|\w+|\s+|.", re.DOTALL)
_STATEMENT = re.compile(r"\b(?:select\b|with\s+\w+\s+as\s*\()[^`]*", re.IGNORECASE)
_CLAUSES = phrases("select, from, where, group by, having, order by, limit, offset")
_BEYOND = phrases("union, intersect, except, window, fetch, ;")
_SENTENCES = {
    "from": "It reads {}.",
    "select": "It shows {}.",
    "where": "It keeps only rows where {}.",
    "group by": "It makes one row for each {}.",
    "having": "Of these it keeps only those where {}.",
    "order by": "It sorts by {}.",
    "limit": "It gives at most {} rows.",
    "offset": "It leaves out the first {} rows.",
}
_JOIN = re.compile(r"\s+(?:(left|right|full)\s+)?(?:(?:inner|outer|cross)\s+)*join\s+", re.IGNORECASE)
NOT_RUN = "I have not run it."


def explain(request: str) -> str:
    """The request's statement in words; "" if it is not a single SELECT with only these clauses."""
    match = _STATEMENT.search(request)
    clauses = _clauses(match[0].strip().rstrip(";")) if match else {}
    if "select" not in clauses or "from" not in clauses or not all(clauses.values()):
        return ""
    distinct = re.sub(r"(?i)^distinct\s+", "", clauses["select"])
    columns = "every column" if distinct == "*" else distinct
    words = {**clauses, "select": f"{columns}, each combination once" if distinct != clauses["select"] else columns}
    words["from"] = _JOIN.sub(_joined, words["from"])
    sentences = [sentence.format(words[clause]) for clause, sentence in _SENTENCES.items() if clause in words]
    return " ".join([*sentences, NOT_RUN])


def _joined(join: re.Match[str]) -> str:
    return f", {join[1].lower()}-joined with " if join[1] else ", joined with "


def _clauses(sql: str) -> dict[str, str]:
    """The outermost clauses by keyword; empty if one occurs twice or is not supported."""
    pieces = [" " if piece.isspace() or piece[:2] in ("--", "/*") else piece for piece in _PIECE.findall(sql)]
    clauses: dict[str, str] = {}
    depth, at, clause = 0, 0, ""
    while at < len(pieces):
        piece = pieces[at]
        depth += (piece == "(") - (piece == ")")
        pair = "".join(pieces[at : at + 3]).lower()
        keyword = (
            next((candidate for candidate in (pair, piece.lower()) if candidate in _CLAUSES), "") if depth == 0 else ""
        )
        if keyword in clauses or depth < 0 or (depth == 0 and piece.lower() in _BEYOND):
            return {}
        if keyword:
            clause, clauses[keyword] = keyword, ""
            at += 3 if keyword == pair else 1
            continue
        if not clause:
            return {}
        clauses[clause] += piece
        at += 1
    return {} if depth else {keyword: text.strip() for keyword, text in clauses.items()}
