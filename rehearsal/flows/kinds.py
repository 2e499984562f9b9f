"""What complaints say: their kinds, and what a customer wants to come of them."""

import re
from collections.abc import Mapping

_GOT = r"(?:got|received|was sent|sent|came|have|delivered|shipped|gave)"
CATEGORIES: Mapping[str, re.Pattern[str]] = {  # the one that weighs most first
    "damaged": re.compile(
        r"\b(?:damag|defect|shatter|smash|dent(?:ed|s)\b|scratch|crack|torn\b|ripp(?:ed|ing)|leak|malfunction|faulty"
        r"|broken?\b|crushed|stain|spoil|burn|bent\b|chipped|dead on arrival|in (?:pieces|bits))\w*"
        r"|\b(?:does|do|did|won|can|is|are)(?:n't|n?'t| not) (?:\w+ )?(?:work|turn|start|function|charg|light"
        r"|open|clos)\w*"
        r"|\b(?:stopped|quit|fails? to|failed to|never|not|will not) (?:work|charg|function|turn)\w*|\bfell apart\b"
        r"|\bmissing (?:a )?parts?\b"
    ),
    "wrong_item": re.compile(
        r"\b(?:wrong|incorrect|different) (?:\w+ )?(?:items?|products?|thing|size|colou?r|model|order|one"
        r"|article|version"
        r"|package|parcel)\b|\bnot (?:what|the \w+(?: \w+)? that) i (?:ordered|bought|paid for)\b|\bnot the one i\b"
        rf"|\b{_GOT}\b[^.;!?]{{0,20}}\b(?:the|a|some) (?:wrong|incorrect)\b|\bwrong \w+ (?:was |were )?{_GOT}\b"
        r"|\bsomeone else's\b|\bmix(?:ed)?[- ]up\b"
        r"|\bi (?:ordered|bought|wanted|asked for) [^.;!?]{1,60}?\b(?:but|and|yet)\b (?:i |you |they )?(?:\w+ )?"
        rf"{_GOT}\b|\b(?:got|received|sent|came with)\b[^.;!?]{{1,50}}\binstead\b"
    ),
    "late": re.compile(
        r"\b(?:late|delay\w*|overdue)\b|\b(?:not|never|yet to|nothing has|has ?n't|have ?n't"
        r"|did ?n't) (?:\w+ )?(?:arriv"
        r"|com(?:e|ing)\b|been (?:delivered|shipped|sent)|turned up|show(?:n|ed) up|received|deliver|ship"
        r"|got(?:ten)?\b)\w*"
        r"|\bstill (?:waiting|nothing|no|not|pending|hasn't|isn't|haven't|has not)\b"
        r"|\bwaiting (?:for )?(?:\w+ ){0,6}?(?:days|weeks|months|ages|forever|order|parcel|package|delivery)\b"
        r"|\bwhere (?:on earth )?(?:is|are) my\b|\bwhere's my\b|\blost in (?:the )?(?:mail|post|transit)\b"
        r"|\bwent missing\b|\b(?:too|so) (?:slow|long)\b"
    ),
    "unwanted": re.compile(
        r"\b(?:no longer|not|n't) (?:really )?(?:want|need|like)\w*\b|\bchang\w+ (?:my|our|his|her|their) mind\b"
        r"|\bcancel\w*|\btoo (?:big|small|large|tight|loose|heavy|expensive)\b"
        r"|\b(?:does|do)(?:n't| not) (?:fit|suit)\b|\bregret\w*|\bby (?:mistake|accident)\b|\baccidental\w*"
        r"|\ba mistake\b|\b(?:not|n't) (?:want to )?keep\b|\bordered (?:it )?twice\b|\bunwanted\b"
        r"|\bcheaper (?:elsewhere|somewhere)\b"
        r"|\b(?:send|give|take) (?:it|this|that|them|everything) back\b|\breturn(?:ing)? (?:it|this|them|my|the|an)\b"
    ),
}
_DENIED = re.compile(
    r"(?:\bnot|n't|\bnever|\bnothing(?: is| was)?|\bno|\bnor|\bisnt|\bwithout)(?: (?:\w+ )?to)?(?: \w+)?\s*$"
)
ORDER_ID = re.compile(r"#?\bw\d{7}\b", re.IGNORECASE)
PERSON = re.compile(
    r"\b(?:human|managers?|supervisor|lawyer|attorney|legal|sue|suing|court|real person|actual person|representative"
    r"|chargeback|consumer protection|police)\b"
    r"|\b(?:talk|speak|transfer|hand)\b[^.;!?]{0,30}\b(?:person|some(?:one|body)|agent|colleague)\b"
)
ANGRY = re.compile(
    r"\b(?:furious|outrag\w+|unacceptable|disgust\w*|ridiculous|scam\w*|fraud\w*|thieves|livid|never again"
    r"|(?:third|fourth|fifth) time|worst)\b"
)
COMPLAINT = re.compile(
    r"\bcomplain\w*|\brefund\w*|\bmoney back\b|\bunhappy\b|\bdisappoint\w*|\bdissatisf\w*|\bupset\b|\bfed up\b"
    r"|\brude\b|\bimpolite\b|\bunfriendly\b|\bterribl[ey]\b|\bhorribl[ey]\b|\bawful\b|\b(?:bad|poor) service\b"
    r"|\bapolog\w+"
)
CONTENT = re.compile(
    r"\b(?:just|only) (?:want(?:ed)? (?:to|you to)|letting you|telling you|to)\b[^.;!?]{0,20}\b(?:know|say|tell|vent"
    r"|complain)\b|\b(?:do not|don't) (?:want|need) (?:anything|a refund|any|money)\b|\bkeep(?:ing)? (?:it|them)\b"
    r"|\bnothing (?:needs|has) to be done\b|\b(?:want|expect|deserve|like|is) (?:just )?an apology\b"
)
CANCEL = re.compile(r"\bcancel(?!led|ed)\w*|\bcall (?:it|the order) off\b")
RETURN = re.compile(r"\breturn(?:ing|ed)?\b|\b(?:send|give|take|bring|ship)(?:ing)? (?:\S+ ){1,4}back\b|\bsend back\b")
HAS_IT = re.compile(r"\b(?:received|arrived|delivered|came|got|wore|tried|opened|fits?|sent)\b")


def categories(text: str) -> list[str]:
    """The kinds of complaint that a text tells, the one that weighs most first; what it denies is left out."""
    lower = straight(text)
    return [name for name, words in CATEGORIES.items() if meant(words, lower)]


def meant(words: re.Pattern[str], lower: str) -> bool:
    """Whether the text says this, and does not say that it is not so."""
    return any(not _DENIED.search(lower[: match.start()]) for match in words.finditer(lower))


def straight(text: str) -> str:
    """In small letters and with straight quotes, as the patterns have them."""
    return " ".join(text.lower().replace("’", "'").split())
