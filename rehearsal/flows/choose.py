"""Which flow a request is for: by what it is about, and by the words it shares with the flows' descriptions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rehearsal.flows.cues import about, first_person, is_task
from rehearsal.flows.graph import Flow
from rehearsal.flows.terms import is_general
from rehearsal.flows.words import content, holds_sql, plain

ENOUGH, APART = 2.0, 1.0  # points a flow needs, and how many more than the next one
_TELLS = {  # words by which a flow's own text says that it is for this
    "data": re.compile(r"\b(?:sql|data(?:base)?|quer(?:y|ies)|tables?|rows?|columns?)\b", re.IGNORECASE),
    "complaint": re.compile(r"\b(?:complain\w*|damaged|late|refund\w*|apolog\w+|unhappy|triage)\b", re.IGNORECASE),
    "question": re.compile(r"\b(?:answers?|questions?)\b", re.IGNORECASE),
    "general": re.compile(r"\b(?:general|greet\w*|small talk|chat\w*|anything else)\b", re.IGNORECASE),
}
_DEEDS = (  # imperatives that may begin another errand
    r"(?:please )?(?:handle|resolve|process|take care|deal|reply|answer|respond|apologi[sz]e|triage|treat|settle|cancel"
    r"|return|refund|tell me|show me|list|count|how many|how much|what|which|also|find out|open|file)\b"
)
_CUT = re.compile(
    r"(?<=[.?!;])\s+(?=\S)|,?\s*\b(?:and |but )?(?:then|after that|afterwards)\b,?\s*|\n+"
    rf"|,?\s+and (?={_DEEDS})",
    re.IGNORECASE,
)
_THEN = re.compile(rf"\b(?:then|after that|afterwards|also|first)\b|\band (?={_DEEDS})", re.IGNORECASE)
_FOLLOWS = re.compile(
    r"^(?:and|only|but|now|also|what about|how about|same|just|sort|order(?:ed)? by|instead|without|excluding|except"
    r"|limit|group|per|by|in|for|with|from|of (?:those|them|these)|as a|make (?:it|that)|no,|i meant|rather|again|split"
    r"|break)\b|\b(?:those|them|these|the same|that list|the (?:last|previous) (?:one|question|query|result)|they|ones"
    r"|instead|as well|too)\b"
)
_QUESTION = re.compile(
    r"^(?:what|which|who|whose|when|where|why|how|is|are|was|were|do|does|did|will|can|has|have)\b.*\?$"
)


@dataclass(frozen=True)
class Chosen:
    """A flow, and the words of the request that are for it."""

    flow: Flow
    words: str


def choose(flows: Sequence[Flow], request: str, answer: str) -> tuple[list[Chosen], str]:
    """One or two flows, or none and the question to ask; `answer`: what was said when it was asked before."""
    if len(flows) == 1:
        return [Chosen(flows[0], request)], ""
    if answer and (named := _named(flows, answer)):
        return [Chosen(named, request if _says_name(named, answer) else f"{request}\n{answer}")], ""
    pieces = [piece for piece in _CUT.split(request) if piece and piece.strip()]
    if not holds_sql(request) and len(pieces) > 1 and _linked(request) and (two := _two(flows, pieces)):
        return two, ""
    points = score(flows, request)
    ranked = sorted(flows, key=lambda flow: -points[flow.name])
    best, second = (points[flow.name] for flow in ranked[:2])
    if answer or (best >= ENOUGH and best - second >= APART):
        return [Chosen(ranked[0], request)], ""
    return [], question(flows)


def question(flows: Sequence[Flow]) -> str:
    """What is asked where nothing decides between the flows."""
    names = " or ".join(f"{flow.name.replace('_', ' ')} ({_first(flow.description)})" for flow in flows)
    return f"Which of these is meant: {names}?"


def follows(flow: Flow, request: str) -> bool:
    """Whether the request goes on from an earlier one of this flow."""
    if not any(name.startswith("previous_") and flow.state[name] for name in flow.have & flow.state.keys()):
        return False
    lower = plain(request)
    return not holds_sql(request) and (bool(_FOLLOWS.search(lower)) or len(lower.split()) <= 3)


def score(flows: Sequence[Flow], text: str) -> Mapping[str, float]:
    """Points by flow."""
    kinds = about(text)
    lower = plain(text)
    personal = first_person(lower) or re.search(r"\byou\b", lower)
    asks = bool(_QUESTION.search(lower)) and not (personal or kinds.data or kinds.complaint)
    points = dict.fromkeys((flow.name for flow in flows), 0.0)
    strengths = {**kinds._asdict(), "question": 2.0 * asks, "general": 4.0 * is_general(text)}
    for kind, strength in strengths.items():
        for flow in _for_it(flows, kind):
            points[flow.name] += strength
    most = 0.5 if max(kinds) else 3.0  # shared words decide only where the wording is mute
    for flow in flows:
        others = frozenset[str]().union(*(content(one.text) for one in flows if one is not flow))
        own = content(text) & (content(f"{flow.name} {flow.description}") - others)
        inner = content(text) & (content(flow.text) - others) - own
        points[flow.name] += min(len(own) + 0.25 * len(inner), most) + 3.0 * _says_name(flow, text)
        points[flow.name] += 2.5 * follows(flow, text) + 6.0 * bool(flow.given())
    return points


def _linked(request: str) -> bool:
    """Whether it says that one thing comes after another, or asks for a case to be worked on."""
    return bool(_THEN.search(request)) or is_task(request)


def _two(flows: Sequence[Flow], pieces: Sequence[str]) -> list[Chosen]:
    """Two flows, one after the other, where pieces of the request are clearly for different ones."""
    found: list[tuple[Flow, str]] = []
    lead = ""  # what stands before the first piece that is clear
    for piece in pieces:
        points = score(flows, piece)
        best, second, *_ = sorted(points.values(), reverse=True)
        sure = best >= ENOUGH and best - second >= APART and not is_general(piece)
        flow = next(one for one in flows if points[one.name] == best) if sure else None
        if flow:
            found.append((flow, f"{lead} {piece}".strip()))
            lead = ""
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {piece}")
        else:
            lead = f"{lead} {piece}"
    runs = [(name, list(run)) for name, run in groupby(found, key=lambda one: one[0].name)]
    if len(runs) != 2:
        return []
    return [Chosen(run[0][0], " ".join(piece for _, piece in run)) for _, run in runs]


def _for_it(flows: Sequence[Flow], kind: str) -> list[Flow]:
    """The flows whose text says most that they are for this kind; one that does not say it is not."""
    told = {flow.name: len({match.lower() for match in _TELLS[kind].findall(flow.text)}) for flow in flows}
    most = max(told.values())
    return [flow for flow in flows if most and told[flow.name] == most]


def _named(flows: Sequence[Flow], answer: str) -> Flow | None:
    """The flow that an answer names, by its name, its words or its place."""
    lower = answer.lower()
    ordinals = ("first", "second", "third", "fourth")
    for at, flow in enumerate(flows):
        if _says_name(flow, answer) or (at < 4 and re.search(rf"\b{ordinals[at]}\b", lower)):
            return flow
    points = score(flows, answer)
    best, second, *_ = sorted(points.values(), reverse=True)
    return next(flow for flow in flows if points[flow.name] == best) if best > second else None


def _says_name(flow: Flow, text: str) -> bool:
    return re.search(rf"\b{re.escape(flow.name).replace('_', '[ _-]')}\b", text, re.IGNORECASE) is not None


def _first(description: str) -> str:
    return re.split(r"(?<=\w)[.:;]\s|\.$", description.strip(), maxsplit=1)[0][:160]
