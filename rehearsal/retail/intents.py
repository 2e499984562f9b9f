"""What a clause is after, by families of verbs: no sentence is known beforehand."""

import re
from typing import NamedTuple

from rehearsal.retail.addresses import find_addresses

FAMILIES = {
    "cancel": re.compile(
        r"\bgets? cancell?ed\b|\bcancellations?:"
        r"|\bcancel(?!l?ed\b|l?ation)\w*|\bcancell?ation\b(?= (?:of|for))|\bcall(?:ing|ed)? (?:[\w#]+ ){0,5}off\b"
        r"|\bscrap\b|\babort\b"
        r"|\bkill (?:it|that|this|the|my)\b|\b(?:stop|halt) (?:it|that|this|(?:the |my |your )?(?:order|#w"
        r"|purchase|shipment))"
        r"|\bnot (?:want to )?receive (?:it|the (?:current )?order|my order|this order)"
        r"|\b(?:get rid of|undo|revoke|withdraw|drop) (?:the |my |your |this |that )?(?:whole |entire )?(?:order"
        r"|purchase|#w)"
        r"|\b(?<!have )(?:want|like|get|have (?:it|them|this|that|the|my|your)|be|need"
        r"|please)\b[^.;]{0,70}(?<!been )\bcancell?ed\b"
    ),
    "return": re.compile(
        r"(?<!\bwhen i )(?<!\bwhen you )(?<!\ba )(?<!\bthe )(?<!\bno )(?<!\bi )(?<!\bfree )\breturn(?:ing)?\b"
        r"(?! (?:from|home|policy|label|process|date))"
        r"|\b(?:want|like|have|need|be)\b[^.;,]{0,30}\breturned\b"
        r"|\b(?:send|sending|give|giving|take|taking|bring|bringing|ship|shipping|hand|mail"
        r"|mailing)\b(?! (?:me )?(?:the |my |your |a )?(?:refund|money|difference))[^.;]{0,500}?\bback\b"
        r"|(?<!money )\b(?:goes|go|going|#?w\d{7}|one|items?) back\b"
        r"(?! (?:to|on|onto) (?:the |my |your )?(?:\w+ )?(?:card|visa|mastercard|paypal|gift))"
    ),
    "exchange": re.compile(
        r"(?<!\ban )(?<!\bthe )\bexchang\w+|\bswap\w*|\breplac(?:e|ing|ed)\b|\btrad(?:e|ing)\b|\bupgrad\w+"
        r"|\bdowngrad\w+"
        r"|\binstead\b|\bin place of\b|\brather (?:have|than)\b"
    ),
    "change": re.compile(
        r"\b(?:can|could|may) (?:the|my) [^.;?]{0,60}\bbecome\b"
        r"|\bchang(?:e|ing)\b(?! (?:my|your|his|her|their) mind)(?! anything)|\b(?:want|like|need|get"
        r"|(?<!you )(?<!i )(?<!we )have)\b[^.;,]{0,60}\b(?:changed|corrected|updated|fixed|modified|switched"
        r"|redirected)\b"
        r"|\bswitch(?:ing|ed)?\b(?! type)|\bmodif(?:y|ying)\b|\bupdat(?:e|ing)\b|\bcorrect(?:ing)?\b|\bfix\b"
        r"|\bedit\b|\balter\b|\bamend\b|\badjust\b"
        r"|\badd (?!up\b)(?:a |an |the )?\w+\b(?! (?:\w+ ){0,5}(?:to|into) (?:my|your|the|this|that|order|#w))"
        r"|\bmake (?:it|them|that|this|the|my|your|sure it is)\b|\bset\b(?= (?:my|your|the|it))|\bmov(?:e|ing)\b"
        r"|\b(?:should|must|shall|has to|have to|needs? to|(?:order|it|them|this|that|everything"
        r"|#w\d{7}) to) (?:be|go|come)\b|\bredirect\w*|\breroute\w*|\bforward(?:ed)? (?:it|to)\b"
        r"|\b(?:comes?|goes|gets?) to (?:my|the|our|your)\b"
        r"|\b(?:shipped|sent|delivered) to\b|\b(?:ship|send|deliver)\b(?= (?:it |them |this |that |my |the |your "
        r"|order |to |both |all |everything |#?w))"
    ),
    "pay": re.compile(
        r"\bpay(?:ing)?\b|\bpaid (?:with|by|via|through|using)\b|(?<!was )(?<!were )(?<!been )\bcharged?\b"
        r"|\bbill(?:ed)?\b|\buse\b|\bput\b"
    ),
    "human": re.compile(
        r"\b(?:talk|speak|transfer\w*|connect\w*|escalat\w+|pass|put|get|hand)\b[^.;]{0,40}"
        r"\b(?:human|supervisor|manager|representative|real person|person|somebody|someone|colleague|agent)\b"
    ),
    "outside": re.compile(
        r"\bcoupons?\b|\bvouchers?\b|\bdiscount\b|\bprice.?match\w*|\bmatch (?:the|that|this|their) price"
        r"|\bunsubscribe\b|\bnewsletter"
        r"|\bpassword\b|\bwarranty\b|\brepair\w*|\bgift.?wrap\w*|\btroubleshoot\b|\bexpedit\w+"
        r"|\bfaster (?:shipping|delivery)"
        r"|\b(?:place|make|create) (?:a|another|the) new order\b|\breorder\b|\border another\b|\bdelete (?:my"
        r"|your|the) account"
        r"|\bcompensat\w+|\b(?:change|update|correct) (?:my|your|the) (?:e-?mail|(?:last |first )?name|phone)\b"
        r"|\bloyalty\b"
        r"|\badd (?:\w+ ){1,6}(?:to|into) (?:my|your|the|this|that|order) ?(?:order|#w)?|\binvoice\b|\bremove\b"
    ),
    "undo": re.compile(
        r"\brefund\b|(?<!amount )(?<!was )(?<!been )\brefunded\b|\bget rid of\b|\bmoney back\b"
        r"|\breimburs\w+|\bget (?:my|your|the) money\b"
        r"|\bno longer (?:want|need)|\bnot (?:want|need) (?:it|them|this|that|the|my"
        r"|your)\b[^.;,]{0,40}(?:any ?more|any longer)"
        r"|\bback\b(?= \(|$)"
    ),
    "keep": re.compile(
        r"\bkeep(?:ing)?\b|\bleave (?:it|them|everything|all|the)\b|\bforget (?:it|about)\b|\bnever ?mind\b"
        r"|\bstays?\b"
    ),
    "want": re.compile(
        r"\bwant (?:\w+ ){1,3}not\b|\b(?:want|need|love|prefer|like|get|have)\b"
        r"(?= (?:exactly |just |rather )?(?:a|an|the|it|them|that|this|one|another|my|your)\b)"
        r"|\bprefer\b|\b(?:would|will) take\b|\bwrong (?:size|colou?r)"
    ),
    "lookup": re.compile(
        r"\bhow (?:much|many|long|big|expensive|did|was|were)\b|\bwhat\b|(?:^|\bknow |\btell \w+ |\bout |\bsee "
        r"|\bsure |\bask |[.:-] )which\b|\bwhich (?:of|cards?|orders?|items?|payment)\b"
        r"|\bwhen (?:will|does|can|is|did)\b|\bwhere (?:is|are|will|does|do|did)\b|\btell (?:me|you|them)\b"
        r"|\bknow\b(?! that)|(?<!wanted to )\bcheck\b|\bfind out\b|\bfigure out\b"
        r"|\blook up\b|\blist\b(?= (?:of |all |me |my |the ))|\bwhether\b|\bshow\b|\bconfirm (?:if|whether|that"
        r"|the)\b|\btrack (?:my|the|it|down|your|order)\b|\bgive me\b|\bread (?:me|out)\b|\bconfirm:"
        r"|\bstatus\b"
        r"|\b(?:is|are|am|was|were|has|have|do|does|did|will|can) (?:there|you|they|it|i|my|the|any|order"
        r"|#w)\b[^.;]*\?"
        r"|\b(?:need|get|send|want|like|see|have|give|request|provide)\b[^.;]{0,30}\b(?:tracking|status|balance"
        r"|total|prices?|number of|list)\b"
        r"|\b(?:tracking|status|balance|total|prices?|costs?|availab\w+|in stock|left)\b[^.;]*\?"
        r"|^(?:order )?(?:status|tracking|balance)\b"
    ),
}
STRONG = ("human", "cancel", "return", "exchange", "change", "pay", "outside", "undo", "keep", "lookup", "want")
_VERBLESS = re.compile(
    r"(?:#?\bw\d{7}|\border\b)[^.;]*:[^.;]*\b(?:in|as|with)\b[^.;]*\bplease\b"
)  # `my order: the mug in red, please`
RID = ("return", "cancel", "undo", "exchange")  # wishes to be rid of something
_NEGATED = re.compile(
    r"\b(?:not|never|no need to|without|rather than|instead of)\b(?: (?:want|wish|need|like|going|to|be|really"
    r"|the|have|any|a|you|me|for|actually"
    r"|ready|planning|it|anything|them|just|then))*\W*$"
)
_AMOUNT_IF = re.compile(
    r"\b(?:how much|how long|what|how many|when)\b.*\b(?:if|would|when|for|by|after|once|from|of|get|cost|does|is)\b"
)
_ADDRESS = re.compile(
    r"\b(?:go|come|sent?|ship\w*|deliver\w*) (?:\w+ )?there\b|\baddress\b|\bunit\b|\bfloor \d|\bhouse number\b"
    r"|\bstreet\b|\bapt\b|\bapartment\b|\bsuite\b|\bship(?:ped|ping)?\b(?= (?:it|them|this|that|to|address|my"
    r"|your|the|both|all|order|#w))|\bdeliver(?:ed|y)? (?:it |them |this |that )?to\b|\bsen[dt]\b|\bzip code to\b"
    r"|\b(?:go|come|goes|going) to (?:my|your|our|the)\b|\bmoved\b"
)
_METHOD = re.compile(
    r"\bpay(?:ment|pal|ing)?\b|\bpaid\b|\b(?:store|website) credit\b|\bgc\b|\bcharged?\b|\bbilled\b"
    r"|\bgift ?cards?\b|\bcredit ?cards?\b|\bvisa\b|\bmaster ?card\b|\bcards?\b|\bpaypal_\d+"
)
_RETRACT = re.compile(
    r"\bdecid\w+\b|\bin the end\b|\beventually\b|\bafter all\b|\bmind\b|\bactually\b|\bon second thought"
)


class Trigger(NamedTuple):
    kind: str
    start: int
    end: int
    negated: bool


def triggers(lower: str) -> list[Trigger]:
    """Every verb of a family, in its place; of two that overlap the stronger."""
    found: list[Trigger] = []
    for kind in STRONG:
        for match in FAMILIES[kind].finditer(lower):
            if not any(one.start < match.end() and match.start() < one.end for one in found):
                negated = kind != "lookup" and bool(_NEGATED.search(lower[: match.start()]))
                found.append(Trigger(kind, match.start(), match.end(), negated))
    return sorted(found, key=lambda one: one.start)


def blocked(lower: str, earlier: Trigger, later: Trigger) -> bool:
    """Whether no cut may come between two verbs: they tell of one thing."""
    between = lower[earlier.end : later.start]
    if later.kind == "exchange" and lower[later.start : later.end] in ("instead", "rather than"):
        return True
    if earlier.kind == "lookup" and later.kind == "lookup":
        return not re.search(r"[,;:]|\band\b", between)
    return False


def kind_of(text: str, found: tuple[Trigger, ...], previous: str, before: str = "") -> str:
    """The kind of wish of a clause: "" none, "detail" belongs to the one before, a trailing "?": perhaps no wish."""
    lower = text.lower()
    meant = [one for one in found if not one.negated]
    kinds = {one.kind for one in meant}
    if not meant:
        return "exchange?" if _VERBLESS.search(lower) and not found else ""
    if "lookup" in kinds and "human" not in kinds and _asks(lower, meant, kinds):
        return "lookup"
    best = min(kinds, key=STRONG.index)
    if "undo" in kinds and best in ("change", "pay"):
        best = "undo"
    if best in ("change", "pay", "want", "exchange"):
        return _changed(lower, text, best, previous, before.lower())
    if best == "undo":
        return "detail" if previous in RID and not re.search(r"\balso\b|#w\d", lower) else "undo"
    if best == "outside" and ("unless" in lower or "refund" in kinds):
        return ""
    return best


def _asks(lower: str, meant: list[Trigger], kinds: set[str]) -> bool:
    """Whether a clause asks, whatever verbs it asks about: `how much do I get if I return it`."""
    amount = re.search(r"\bhow (?:much|many|long)\b", lower)
    if amount and amount.start() <= min((one.start for one in meant if one.kind in RID), default=amount.start()):
        return True
    if kinds <= {"lookup", "want", "keep"} or (
        meant[0].kind == "lookup" and kinds <= {"lookup", "want", "keep", "pay"}
    ):
        return "instead" not in lower
    if meant[0].kind != "lookup" or not _AMOUNT_IF.search(lower):
        return False
    return not kinds & {"change", "exchange", "cancel", "return"} or bool(
        re.search(r"\bwhat (?:would|will|do|does)\b", lower)
    )


def _changed(lower: str, text: str, best: str, previous: str, before: str) -> str:
    """Of an order's address, its payment or its items?"""
    items = previous in RID
    if kind := _moved(lower, text, best):
        return kind
    if items and re.search(r"\brefund\w*\b", lower):
        return "detail"
    if _METHOD.search(lower) and not re.search(r"\b(?:exchang|swap|replac|upgrad)", lower):
        return _paid(lower, best, items=items)
    account = re.search(r"\baccount\b|\bprofile\b", lower) and (previous == "address" or _ADDRESS.search(before))
    if best != "want" and (_ADDRESS.search(lower) or (best == "change" and account)):
        return "address"
    return "detail" if best == "pay" else _varied(lower, best, items=items)


def _moved(lower: str, text: str, best: str) -> str:
    """Whether an address stands in the clause, or is spoken of."""
    if find_addresses(text):
        only_told = re.search(r"\bmov(?:e|ing|ed)\b", lower) and not re.search(
            r"\b(?:order|ship|send|update|change)", lower
        )
        return "address?" if only_told else "address"
    return "address" if re.search(r"\baddress\b", lower) and best != "want" else ""


def _varied(lower: str, best: str, *, items: bool) -> str:
    """Another variant of an item; perhaps no wish where the verb says little."""
    if best == "want":
        if re.search(r"\b(?:different|another|other)\b", lower):
            return "exchange"
        return "detail" if items else "exchange?"
    passive = r"\b(?:should|must|has to|have to|needs? to|to) (?:be|go|come|get)\b"
    return "exchange?" if best == "change" and re.search(passive, lower) else "exchange"


def _paid(lower: str, best: str, *, items: bool) -> str:
    """Whether a payment is to be changed, or it is told which one to use for something else."""
    about = bool(re.search(r"#?\bw\d{7}|\border\b", lower))
    money = re.search(
        r"\bdifference\b|\bleft over\b|\bextra\b|\brest\b|\beverything\b|\ball of (?:it|this|that)\b|\bcredit\b", lower
    )
    if re.search(r"\bextra\b|\bdifference\b", lower) and not about:
        return "detail"
    if items and (money or (best in ("pay", "want") and not about)):
        return "detail"
    return "detail" if items and not about and best == "change" and not re.search(r"\bpa(?:y|id)", lower) else "payment"


def retracts(text: str) -> bool:
    """Whether a clause that keeps things takes an earlier wish back."""
    lower = text.lower()
    return bool(_RETRACT.search(lower)) and not re.search(r"\bif\b|\botherwise\b", lower)
