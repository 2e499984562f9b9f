"""What way through a flow a request wants: where it begins, what it leads through, what it leaves out, and why."""

import re
from collections.abc import Sequence

from rehearsal.flows.choose import follows
from rehearsal.flows.cues import wants_change
from rehearsal.flows.graph import Flow
from rehearsal.flows.remedies import branched
from rehearsal.flows.route import Wish
from rehearsal.flows.said import as_told
from rehearsal.flows.terms import is_general
from rehearsal.flows.words import content, holds_sql, plain

_GENERAL = re.compile(r"\b(?:general|greet\w*|small talk|not about (?:the )?data)\b", re.IGNORECASE)
_REFUSES = re.compile(r"\b(?:unsafe|refus\w+|forbid\w*|not allowed)\b", re.IGNORECASE)
_MEND = re.compile(r"\b(?:fix|repair|correct|mend|debug|broken|fails?|failing|wrong|error|does(?:n't| not) work)\b")
_VAGUE = content(
    "fix repair correct mend debug broken fails failing error errors wrong work working sql statement query help "
    "get runs"
    " run return throws gives something problem look bug syntax invalid rejected doesn isn don won one thing "
    "here database"
    " make good right again seems somehow check valid execute"
)
_ONLY_CHECK = re.compile(
    r"\b(?:valid(?:ate|ity)?|check|verify|correct|safe|syntax|right|well[- ]formed)\b(?!.*\b(?:run|execute|fix|result|"
    r"results)\b)"
)
_WITH = re.compile(
    r"\b(?:with|including|together with|along with|join(?:ed)? (?:it |them )?with|add|also|what about|how about"
    r"|and|show"
    r"|many)\b (?:(?:the|their|its|also|all|how many|show|me|number of|\w+'s?) )*(?P<noun>[a-z]{3,})\b"
)
_PLURAL = re.compile(r"(?<!in )(?<!by )(?<!per )(?<!for )\b[a-z]{3,}(?:[^su]s)\b")
_NO_NOUN = frozenset(
    content("ones those rows results orders days weeks months years times hours names columns states cities")
)
_ONLY_THESE = (
    r"\b(?:which|what|only|just|list|name) (?:the )?{0}\b[^.;!?]*\b(?:would|do|will|does|are)\b[^.;!?]*"
    r"\b(?:need|needed|use|used|take|involved|look at)\b"
)


def wanted(flow: Flow, request: str, feedback: str) -> tuple[Wish, str]:
    """The wish for this request, and what decided it in a sentence."""
    wish, why = _way(flow, request)
    wish, more = as_told(flow, wish, request, feedback)
    return wish, " ".join(part for part in (why, more) if part)


def _way(flow: Flow, request: str) -> tuple[Wish, str]:
    ordinary = flow.ordinary()
    if is_general(request) and (aside := _ends(flow, _GENERAL)):
        return Wish(_to(flow, aside), ends=frozenset({aside})), "It is no question about data."
    if wants_change(request) and not holds_sql(request) and (refusal := _refusal(flow)):
        return Wish(refusal, ends=frozenset(refusal[-1:])), "It asks to change what is stored, which is refused."
    if entered := _given(flow, request, ordinary):
        return entered
    if follows(flow, request):
        return _followed(flow, request, ordinary)
    if only := _only(flow, request, ordinary):
        return _from(only), f"Only {only[-2]} is asked for."
    through = branched(flow, request, ordinary)
    return Wish(through, starts=through[:1]), "The ordinary way is what it needs."


def _ends(flow: Flow, tells: re.Pattern[str]) -> str:
    """An end of the flow off its ordinary way whose text says this."""
    ordinary = flow.ordinary()
    off = (node for node in flow.nodes.values() if not node.after and node.name not in ordinary)
    return next((node.name for node in off if tells.search(f"{node.name.replace('_', ' ')} {node.description}")), "")


def _to(flow: Flow, end: str) -> tuple[str, ...]:
    return (flow.first.name, end)


def _refusal(flow: Flow) -> tuple[str, ...]:
    """The first node and where it leads what the flow refuses."""
    for name, expression in flow.first.conditions.items():
        if _REFUSES.search(expression) and name in flow.nodes and name in flow.first.after:
            return flow.first.name, name
    return ()


def _given(flow: Flow, request: str, ordinary: Sequence[str]) -> tuple[Wish, str] | None:
    """Where the state holds what a node of the ordinary way would make: the way goes on behind that node."""
    makers = flow.given()
    if not makers:
        return None
    name = max(makers, key=lambda one: ordinary.index(makers[one].name))
    rest = ordinary[ordinary.index(makers[name].name) + 1 :]
    words = plain(_without(request, str(flow.state[name])))
    mends = bool(flow.state.get("fix")) or bool(_MEND.search(words))
    if mends and name in makers[name].takes and len(content(words) - _VAGUE) > 1:
        return _from((makers[name].name, *rest)), f"{name} is given, and what is wrong with it is told."
    if not mends and _ONLY_CHECK.search(words):
        return _from((*rest[:1], *rest[-1:])), f"{name} is given and shall only be checked."
    return _from(rest), f"{name} is given: what would make it is not needed."


def _without(request: str, value: str) -> str:
    """The words around a value; of a long one only the beginning is told, then nothing behind it counts."""
    begins = value.removesuffix("…")
    before, _, after = request.partition(begins)
    return f"{before} {after}" if begins == value else before


def _only(flow: Flow, request: str, ordinary: Sequence[str]) -> tuple[str, ...]:
    """Through the node that makes what alone is asked for, where the flow can end after it: `which tables would …`."""
    lower, end = plain(request), ordinary[-1]
    for name in ordinary[1:-1]:
        node = flow.nodes[name]
        asked = any(re.search(_ONLY_THESE.format(re.escape(out.replace("_", " "))), lower) for out in node.outputs)
        if asked and end in node.after:
            return (ordinary[0], name, end)
    return ()


def _from(way: Sequence[str]) -> Wish:
    return Wish(tuple(way), starts=tuple(way[:1]), ends=frozenset(way[-1:]))


def _followed(flow: Flow, request: str, ordinary: Sequence[str]) -> tuple[Wish, str]:
    """Through the nodes that work over what an earlier request had; what is still good is not made again."""
    before = {name for name in flow.have & flow.state.keys() if name.startswith("previous_") and flow.state[name]}
    redo = [
        name
        for name in ordinary
        if flow.nodes[name].takes & before and any(f"previous_{out}" in before for out in flow.nodes[name].outputs)
    ]
    if not redo:
        return Wish(tuple(ordinary), starts=tuple(ordinary[:1])), "It goes on from the request before."
    kept = [one.removeprefix("previous_") for one in before]
    still = [name for name in kept if (maker := flow.maker(name)) and maker.name not in redo]
    first = ordinary.index(redo[0])
    if not still or _new_thing(flow, request):
        return _from(ordinary[first:]), "It goes on from the request before, with something new in it."
    last = ordinary.index(redo[-1])
    through = (*redo, *ordinary[last + 1 :])
    return _from(through), f"It goes on from the request before: its {', '.join(still)} serve again."


def _new_thing(flow: Flow, request: str) -> bool:
    """Whether it names a thing that nothing of the earlier request names."""
    said = " ".join(str(value) for name, value in flow.state.items() if name.startswith("previous_"))
    known = content(said) | _NO_NOUN
    lower = plain(request)
    nouns = {match["noun"] for match in _WITH.finditer(lower) if match["noun"].endswith("s")}
    nouns |= set(_PLURAL.findall(lower))
    return bool(content(" ".join(nouns)) - known)
