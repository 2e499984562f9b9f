"""Which way a request asks for where a node can go on to different deeds, and what has to be asked first."""

import re
from collections.abc import Sequence

from rehearsal.flows.graph import FINDINGS, Flow, Node
from rehearsal.flows.kinds import (
    CANCEL,
    CONTENT,
    HAS_IT,
    ORDER_ID,
    PERSON,
    RETURN,
    categories,
    meant,
    straight,
)
from rehearsal.retail.identity import emails, people

_CANCELS = re.compile(r"\bcancel")  # what a node's text says that does it
_RETURNS = re.compile(r"\breturn")
_PEOPLE = re.compile(r"\b(?:persons?|human|agents?|colleagues?)\b")
_REPLIES = re.compile(r"\b(?:repl(?:y|ies)|answers?)\b")
_ORDER = re.compile(r"\border\b")
_THING = re.compile(
    r"\b(?:orders?|ordered|bought|purchase\w*|parcel|package|delivery|delivered|shipment|items?|arrived|received"
    r"|sent|charged|paid"
    r"|refund\w*|money)\b"
)


def branched(flow: Flow, request: str, ordinary: Sequence[str]) -> tuple[str, ...]:
    """The ordinary way; where it forks into different deeds, the one that the request asks for."""
    if short := _beside_the_point(flow, request, ordinary):
        return short
    through = list(ordinary)
    for name in ordinary[:-1]:
        at = through.index(name) if name in through else -1
        ways = [flow.nodes[one] for one in flow.nodes[name].after if one in flow.nodes] if at >= 0 else []
        asker = next((one for one in ways if _must_ask(one, name, flow, request)), None)
        if asker:
            through[at : at + 1] = [name, asker.name, name]
            at += 2
        taken = _taken(ways, request)
        if taken and taken.name != through[at + 1]:
            through = [*through[: at + 1], *_on_from(flow, taken)]
    return tuple(through)


def _beside_the_point(flow: Flow, request: str, ordinary: Sequence[str]) -> tuple[str, ...]:
    """From the first node to the end, where the flow does something about orders and the request is about none."""
    lower = straight(request)
    writes = any(node.effect != "read" for node in flow.nodes.values()) and _ORDER.search(flow.text.lower())
    about = ORDER_ID.search(lower) or _THING.search(lower) or categories(lower) or PERSON.search(lower)
    ends = ordinary[-1] in flow.first.after and flow.have <= {"request"}
    return (ordinary[0], ordinary[-1]) if writes and ends and not about else ()


def _must_ask(node: Node, name: str, flow: Flow, request: str) -> bool:
    """Whether this is a detour back to where it came from, that asks for an order the request does not tell."""
    detour = node.asks and node.name not in flow.ordinary() and name in node.after
    if not detour or not _ORDER.search(_text(node)) or FINDINGS in flow.have:
        return False
    return not ORDER_ID.search(request) or not (emails(request) or people(request))


def _on_from(flow: Flow, node: Node) -> list[str]:
    """This node and the ordinary way from it."""
    way: list[str] = []
    here: Node | None = node
    while here and here.name not in way:
        way.append(here.name)
        here = flow.nodes.get(here.after[0]) if here.after else None
    return way


def _taken(ways: Sequence[Node], request: str) -> Node | None:
    """Which of these the request asks for; None where they do not differ in what they change."""
    if len({node.effect for node in ways}) < 2 or sum(node.effect != "read" for node in ways) < 2:
        return None
    tells = _remedy(straight(request))
    return next((node for node in ways if tells.search(_text(node))), None)


def _remedy(lower: str) -> re.Pattern[str]:
    """What the customer wants, said first and foremost by verbs, else by what is wrong."""
    if PERSON.search(lower):
        return _PEOPLE
    if CONTENT.search(lower):
        return _REPLIES
    if meant(CANCEL, lower):
        return _CANCELS
    if meant(RETURN, lower):
        return _RETURNS
    kind = next(iter(categories(lower)), "")
    rid = _RETURNS if HAS_IT.search(lower) else _CANCELS
    return {"damaged": _RETURNS, "wrong_item": _RETURNS, "unwanted": rid}.get(kind, _REPLIES)


def _text(node: Node) -> str:
    return f"{node.name.replace('_', ' ')} {node.description}".lower()
