"""What people say about the path itself: leave this out, go through that, do not ask me."""

import re
from dataclasses import replace

from rehearsal.flows.graph import Flow, Node
from rehearsal.flows.route import Wish
from rehearsal.flows.words import content, plain

_LEAVE_OUT = re.compile(
    r"\b(?:skip|leave out|omit|without|do(?:es)? not|don't|no need (?:to|for)|never|not|drop|instead of|rather than)\b"
    r"(?P<what>[^.;!?]{0,60})"
)
_ADD = re.compile(
    r"\b(?:include|add|put in|go through|start (?:at|with|from)|begin (?:at|with)|first)\b(?P<what>[^.;!?]{0,60})"
)
_NO_QUESTIONS = re.compile(
    r"\bwithout (?:asking|my approval|approval|confirm\w+|bothering)|\b(?:don't|do not|no need to) (?:ask|bother)\b"
    r"|\b(?:pick|choose|decide|select) (?:\w+ ){0,3}yourself\b|\bno questions\b|\byou (?:choose|decide|pick)\b"
)
_NOT_RUN = re.compile(
    r"\b(?:only|just)\b(?: \w+){0,4} (?:the )?(?:sql|query|statement)\b(?! .*\b(?:run|execute)\b)|\bsql only\b"
    r"|\bdry run\b"
)
_ACTS = {"run": "execut", "execut": "run", "approval": "approv", "confirm": "approv", "validation": "validat"}


def as_told(flow: Flow, wish: Wish, request: str, feedback: str) -> tuple[Wish, str]:
    """The wish with what was said about the path, and a sentence that tells it."""
    avoid = _avoided(flow, plain(f"{request}. {feedback}"))
    told = plain(feedback)
    added = [one.name for match in _ADD.finditer(told) for one in _meant(flow, match["what"]) if one.name not in avoid]
    extra = tuple(name for name in dict.fromkeys(added) if name not in wish.through)
    if not avoid & set(wish.through) and not extra:
        return replace(wish, avoid=avoid), ""
    changed = replace(
        wish,
        through=(*(name for name in wish.through if name not in avoid), *extra),
        avoid=avoid,
        starts=() if extra or set(wish.starts) <= avoid else wish.starts,
    )
    left = sorted(avoid & set(wish.through))
    return changed, " ".join(
        [f"{', '.join(names)} {what} as told." for names, what in ((left, "left out"), (extra, "put in")) if names]
    )


def _avoided(flow: Flow, text: str) -> frozenset[str]:
    """The nodes that shall not run; the end of the ordinary way is not among them."""
    ordinary = flow.ordinary()
    found = {one.name for match in _LEAVE_OUT.finditer(text) for one in _meant(flow, match["what"])}
    if _NO_QUESTIONS.search(text):
        found |= {name for name in ordinary if flow.nodes[name].asks}
    if _NOT_RUN.search(text):
        found |= {name for name in ordinary if "execut" in content(name) or "run" in content(name)}
    return frozenset(found) - set(ordinary[-1:])


def _meant(flow: Flow, words: str) -> list[Node]:
    """The nodes that these words name, or whose work their first word tells."""
    exact = [one for one in flow.nodes.values() if one.name in words.replace(" ", "_")]
    if exact:
        return exact
    head = next((next(iter(found)) for word in words.split() if (found := content(word))), "")
    return [one for one in flow.nodes.values() if head and {head, _ACTS.get(head, head)} & content(one.name)]
