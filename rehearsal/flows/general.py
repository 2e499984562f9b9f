"""Answers what is not about data: what can be asked here, what words of SQL mean; of the rest, that it is not known."""

import re
from typing import Any

from rehearsal.catalogue import CONFIGURE
from rehearsal.flows.terms import MEANINGS, asked_terms, is_greeting
from rehearsal.flows.words import LONGEST, holds_sql, plain
from rehearsal.prompt import Prompt
from rehearsal.retail.state import json_lines

WHO = "I am the rehearsal model, a set of rules and no language model."
_TABLES = re.compile(r"\btables?\b|\bdata(?:base)?\b|\bschema\b|\bknow about\b")
_FLOWS = re.compile(r"\bflows?\b")
_ABLE = re.compile(
    r"\bwhat\b[^.;!]{0,30}\b(?:can|could|do|does)\b|\bhow (?:do|can|should) i\b|\bhelp\b|\bparley\b|\bable to\b|\bwho\b"
    r"|\bare you\b|\byour name\b|\bquestions\b"
)
_LISTED = 40  # names that an answer lists


def answer_general(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `general_questions`."""
    request = prompt["request"][:LONGEST]
    if terms := asked_terms(request):
        return {"answer": " ".join(MEANINGS[term] for term in terms)}
    tables = [line.strip() for line in prompt["tables"].splitlines() if line.strip()]
    lower = plain(request)
    if holds_sql(request):
        return {"answer": f"{WHO} I cannot explain a statement in words, but check it and run it. {CONFIGURE}"}
    if re.fullmatch(r"\W*(?:thanks?|thank you|cheers|bye|goodbye)\b.*", lower):
        return {"answer": "You are welcome."}
    return {"answer": " ".join(part for part in _about(prompt, lower, tables) if part)}


def _about(prompt: Prompt, lower: str, tables: list[str]) -> list[str]:
    """What there is to tell of this place."""
    if _FLOWS.search(lower):
        return [_flows(prompt)]
    if _TABLES.search(lower) and not re.search(r"\bparley\b", lower):
        return [_tables(tables)]
    if is_greeting(lower):
        return ["Hello.", WHO, _flows(prompt), _tables(tables)]
    if _ABLE.search(lower):
        return [WHO, _flows(prompt), _tables(tables)]
    return [WHO, "I do not know the answer to this: it is not about the data, and I know nothing else.", CONFIGURE]


def _tables(tables: list[str]) -> str:
    if not tables:
        return "I was shown no tables that could be asked about."
    more = f" and {len(tables) - _LISTED} more" if len(tables) > _LISTED else ""
    return f"You can ask about these tables: {', '.join(tables[:_LISTED])}{more}."


def _flows(prompt: Prompt) -> str:
    """What can be done here, by the flows that the prompt tells of: as JSON lines, or as `name: description`."""
    lines = [(str(one.get("name", "")), str(one.get("description", ""))) for one in json_lines(prompt["flows"])]
    if not lines:
        parts = (line.lstrip("- ").partition(":") for line in prompt["flows"].splitlines() if line.strip())
        lines = [(name.strip(), description.strip()) for name, _, description in parts]
    if not lines:
        return ""
    told = "; ".join(f"{name}: {description.rstrip('.')}" if description else name for name, description in lines)
    return f"There are these flows: {told}."
