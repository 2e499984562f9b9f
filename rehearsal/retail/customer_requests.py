"""A customer's message as a list of requests, each with the words that belong to it.

One table maps verbs to kinds of requests. If the message is ambiguous (conditions, second thoughts, negations), the
doubtful words are returned and the customer is asked, because nothing may be done on a guess.
"""

import re
from dataclasses import dataclass, replace

from rehearsal.retail.addresses import find_addresses
from rehearsal.retail.identity import without_identity

ORDER_ID = re.compile(r"(?<![\w@.-])#?[wW](\d{7})\b")
_SENTENCE = re.compile(r"(?<=[.!?;])(?<!\bApt\.)(?<!\bSt\.)\s+|\n+")
_VERBS = {  # kinds of requests by their words
    "human": r"human|manager|supervisor|real person|(?:speak|talk) (?:to|with) some\w+",
    "cancel": r"cancel(?:l?ing)?|(?:be|want|like|have|need)\b(?: \S+){0,9} cancell?ed|call\b(?: \S+){0,6} off",
    "return": r"return(?:ing)?|(?:send|give|bring|take|go|goes)\b(?: \S+){0,6} back|money back",
    "exchange": r"exchang(?:e|ing)|(?:be|want|like|have)\b(?: \S+){0,9} exchanged|swap\w*|replac(?:e|ed|ing)|trade in",
    "refund": r"refund\w*",
    "change": (
        r"chang(?:e|ed|ing)(?! (?:my|your) mind)|switch(?:ed|ing)?|modify|update|instead|rather|correct|prefer|add"
        r"|make (?:it|the|my|your)|ship|send|deliver|be (?:shipped|sent|delivered)|pay|paid|charged?|bill(?:ed)?"
    ),
    "keep": (
        r"keep(?:ing)?|stays?|love|happy with|leave|(?:we|i) like|can come|(?:is|are) (?:very )?(?:good|fine|right)"
        r"|not touch|not (?:want|wish|need|have) to (?:cancel|change|return|exchange)"
    ),
    "lookup": (
        r"what|how (?:much|many|long|did|was)|which|where|when|whether|tell (?:me|us)|(?:to|be) (?:know|told)|know"
        r"|find out|status|track\w*|list|show|check|confirm|left on|balance|on file|history|total|prices?"
    ),
}
_ANY = "|".join(rf"(?P<{kind}>\b(?:{words})\b)" for kind, words in _VERBS.items())
_VERB = re.compile(_ANY, re.IGNORECASE)
_LEAD = (
    r"(?:(?:please|also|then|first|and|i|we|you|would|want|like|need|to|could|can|kindly|just|my|will|must|have|be"
    r"|should|the rest|everything else|all else"
    r"|(?:in|for|from|of) (?:(?:my|the|your|pending|delivered|order) ?)*(?:#?w\d{7},?)?)\s+)*"
)
_BOUNDARY = re.compile(rf"(?:[,;:]|\s-|\s?\b(?:and|then|but|so|because)\b)\s*(?={_LEAD}(?:{_ANY}))", re.IGNORECASE)
_HARMLESS = re.compile(
    r"(?i)\bnot (?:really )?(?:need|needed|fit|work|mean|like|suit)\b|\bnot (?:yet )?(?:been )?shipped\b|\bany ?more\b"
    r"|\bnot want (?:it|them|this|any of (?:it|them))\b|\bif (?:possible|you (?:can|could|please)|there is (?:a|any) )"
    r"|\bif (?:it|that) costs more\b|\bin case you ask\b"
)
_DOUBT = re.compile(
    r"(?i)\b(?:if|unless|otherwise|provided|maybe|perhaps|might|should i|thinking (?:of|about)|not|never|nor|neither"
    r"|actually|eventually|no wait|second thoughts?|or else|except|but only|or rather|in the end|ignore|refuse)\b"
)
_IT = re.compile(r"(?i)\b(?:it|its|them|they)\b")
_ACCOUNT = re.compile(r"(?i)\b(?:profile|account|default address)\b")
_MONEY = re.compile(r"(?i)\b(?:pay(?:ment)?|paid|charged?|bill(?:ed)?|pay ?pal|gift ?card|visa|master ?card|card)\b")
_SHIP = re.compile(r"(?i)\b(?:ship|send|deliver)\w*\b|\bsent\b")
_PLACE = re.compile(r"(?i)\b(?:address|profile)\b")


@dataclass(frozen=True)
class Request:
    """One thing that the customer wants. `text` is its clause, `rest` other clauses that belong to it."""

    kind: str  # cancel | return | exchange | payment | address | lookup | human
    text: str
    rest: str = ""

    @property
    def words(self) -> str:
        return f"{self.text} {self.rest}".strip()

    @property
    def order_ids(self) -> list[str]:
        return order_ids(self.text) or order_ids(self.rest)

    @property
    def about_account(self) -> bool:
        return bool(_ACCOUNT.search(self.text)) and not _SHIP.search(self.text)


def order_ids(text: str) -> list[str]:
    """Every order id once, in the store's spelling."""
    return list(dict.fromkeys(f"#W{number}" for number in ORDER_ID.findall(text)))


def read_requests(message: str) -> tuple[list[Request], str]:
    """All requests in the order of the message, and the words that make them doubtful ("" if none do)."""
    requests: list[Request] = []
    context = ""
    doubt = ""
    for clause in _clauses(without_identity(message)):
        kind = _kind(clause, requests)
        if kind == "doubt" or (kind == "keep" and any(request.kind == "cancel" for request in requests)):
            doubt = doubt or clause
        if kind in ("keep", "doubt"):
            continue
        if kind == "lookup" and requests and requests[-1].kind == kind and _IT.search(clause):
            requests[-1] = replace(requests[-1], text=f"{requests[-1].text}, {clause}")
        elif kind:
            requests.append(Request(kind, clause, context))
            context = ""
        elif requests:
            requests[-1] = replace(requests[-1], rest=f"{requests[-1].rest} {clause}")
        else:
            context = f"{context} {clause}"
    requests = _with_antecedents(requests)
    if all(request.kind == "lookup" for request in requests):
        return requests, doubt if not requests else ""
    match = _DOUBT.search(_HARMLESS.sub(" ", message))
    return requests, doubt or (f"{match[0]} …" if match else "")


def _with_antecedents(requests: list[Request]) -> list[Request]:
    """Resolve `it` to an order: the one named in the nearest earlier request, if that names only one."""
    resolved: list[Request] = []
    named: list[str] = []
    for request in requests:
        refers = len(named) == 1 and not request.order_ids and _IT.search(request.text)
        resolved.append(replace(request, rest=f"{request.rest} {named[0]}") if refers else request)
        named = resolved[-1].order_ids or named
    return resolved


def _clauses(message: str) -> list[str]:
    """Split sentences before each further verb of the table."""
    clauses = []
    for sentence in filter(None, _SENTENCE.split(message)):
        start = 0
        for cut in _BOUNDARY.finditer(sentence):
            if _VERB.search(sentence, start, cut.start()):
                clauses.append(sentence[start : cut.start()])
                start = cut.end()
        clauses.append(sentence[start:])
    return [clause.strip() for clause in clauses if clause.strip()]


def _kind(clause: str, before: list[Request]) -> str:
    """A clause's kind of request; "" if it only adds detail, `keep` if it asks for no change, `doubt` if unclear."""
    verbs = [str(match.lastgroup) for match in _VERB.finditer(clause)]
    writes = {kind for kind in verbs if kind not in ("lookup", "keep")}
    if not writes:
        return "lookup" if "lookup" in verbs or clause.endswith("?") else "keep" if "keep" in verbs else ""
    if "human" in verbs or verbs[0] == "lookup":
        return "human" if "human" in verbs else "lookup"
    sure = writes - {"change", "refund"}
    if "keep" in verbs or len(sure) > 1 or (sure and find_addresses(clause)):
        return "doubt"
    if sure:
        return sure.pop()
    if "refund" in writes:
        return "" if any(request.kind in ("cancel", "return", "exchange") for request in before) else "return"
    return _changed(clause)


def _changed(clause: str) -> str:
    """What a clause changes: an address, a payment, or items; "" if it only says how another request is paid for."""
    if find_addresses(clause) or _PLACE.search(clause) or (_SHIP.search(clause) and not _MONEY.search(clause)):
        return "address"
    if _MONEY.search(clause):
        about = ORDER_ID.search(clause) or re.search(r"(?i)\border\b|\bpayment method\b", clause)
        return "payment" if about else ""
    return "exchange"
