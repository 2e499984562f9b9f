"""Ways of asking that mean the same, put into the one that the grammar reads; words that add nothing are left out."""

import re
from collections.abc import Callable

from rehearsal.sql.phrasing import plain
from rehearsal.sql.words import tidy

_OPEN = (
    r"please|kindly|gimme|hi|hello|hey|so|ok|okay|well|(?:can|could|would) you(?: please)?(?: tell me"
    r"| show me| give me| list)?"
    r"|i(?:'d| would) (?:like|love|need|want)(?: to (?:know|see|have|get))?(?: about)?|i (?:want|need"
    r"|wish)(?: to (?:know|see|have|get))?"
    r"|i am (?:looking for|interested in|curious)|we (?:want|need)(?: to (?:know|see|have))?"
    r"|let me (?:know|see)|do you know|tell us"
    r"|i wonder|find out|help me find|pull up|fetch|print|look up|get me|figure out|work out|bring up"
    r"|hand me|let us see"
)
_PLACES = r"(?:catalogu?e|store|shop|database|system|data|range|assortment|tables?|records?|books|collection)"
_COST = r"(?:cost|go for|sell for|come to|add up to|amount to|set (?:me|us|you) back)"
_RULES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (rf"^(?:{_OPEN})\b[\s,]*", ""),
    (
        r"\b(best|worst)[- ]?(?:sellers?|selling products?)\b",
        lambda match: "most popular product" if match[1] == "best" else "least popular product",
    ),
    # words that add nothing
    (r",? in (?:cents|dollars|euros|usd|us dollars)$", ""),
    (
        rf"\b(?:right now|at the moment|so far|at present|on file|on record|in (?:our|the|this) {_PLACES}"
        rf"|as of now|these days)\b",
        "",
    ),
    (r"\b(?:that|which)? ?we (?:offer|sell|stock|carry|have got)\b", ""),
    (r"\bthere (?:are|is) in total\b", "are there"),
    (r"\bare (?:now|currently|presently|still)\b", "are"),
    (r"\bis (?:now|currently|presently|still)\b", "is"),
    (r"\b(?:left )?on (?:them|it)\b", ""),
    (r"\b(?:balance|money|credit|value) left\b", "balance"),
    (
        r",? and (?:how (?:high|much|big|large|many|often|long|old)|what)(?: (?:is|are|was|were|did|do"
        r"|does))? (?:it|that|they|this|each|each of "
        r"them|each one)?(?: (?:of them )?(?:place|have|has|order|buy|cost|make|spend|amount to|is|was))?$",
        "",
    ),
    (
        r"\b(?:has|have|had)? ?(?:anyone|anybody|someone) (?:has |have |had )?(?:ever )?(?:made|placed|given"
        r"|paid)$",
        "",
    ),
    (r"\bsingle (?=payment|order|refund|transaction|item|sale|loan|visit|purchase)", ""),
    (
        r"\b(?:over|across|for|in|on) all (?:of )?(?:his|her|their|its|the) (?:orders|payments|purchases"
        r"|loans|visits)$",
        "",
    ),
    (r"\b(paid|spent|pay|spend) (?:us|me|with us|here|in our store)\b", r"\1"),
    (r",? (?:counting|including) \w+ itself$", ""),
    (r",? (?:written|formatted|shown|given) (?:like|as) [\d-]+$", ""),
    (
        r"^(.*\b(?:popular|most often|least often)\b.*?),? (?:counting|going by|measured by"
        r"|judging by)\b.*\bitems?\b.*$",
        r"\1",
    ),
    (
        r"^(.*\b(?:newest|oldest|latest|earliest|most recent)\b.*?),? (?:going|judging"
        r"|measured) by .*\bdate\b.*$",
        r"\1",
    ),
    (r"\b(first|last|latest|most recent|newest) (\w+) to \w+$", r"\1 \2"),
    (r",? and (?:on (?:what|which) (?:date|day)|when|in (?:what|which) year)(?: was (?:it|that)| did it \w+)?$", ""),
    (r"\b(?:biggest|highest|largest|top|best|most) \w+ first\b(?<!expensive first)", "highest first"),
    (r"\b(?:lowest|smallest|fewest|least) \w+ first\b", "lowest first"),
    (r"^(?:for )?(?:each|every) (?=.*\b(?:together|along) with\b)", "all "),
    (
        r"^for (?:each|every|all) (.+?), (?:give me|show me|list|show|tell me|what is) (?!how many"
        r"|the (?:number|total|average))(.+)$",
        r"list \2 of \1",
    ),
    # left out
    (
        r"[\s,]*\(?\b(?:refund|cancellation|return|(?:\w+))s? (?:left out|not counted|not included|excluded"
        r"|not deducted|aside|ignored)\)?",
        lambda match: f" except {re.sub(r'^[\s,(]*(\w+).*$', r'\1', match[0])}",
    ),
    (r"\((?:no|not|without|excluding|leaving out|ignoring|not counting|minus)(?: any| the)? (\w+)\)", r" except \1"),
    # averages
    (
        r"^(?:on average,? )how many (.+?) (?:are"
        r" there |are |were there"
        r" |do we have |do you find"
        r" )?(?:in|per|on|for|to)"
        r" (?:an?|each|every|one|the|"
        r"the average)? ?(.+)$",
        r"average number of \1 per \2",
    ),
    (
        r"^(?:on average,? )how many (.+?) (?:does|do"
        r"|did|has|have) (?:an?"
        r"|each|every|the average|the"
        r" typical) (.+?) (?:have"
        r"|contain|place|placed|make"
        r"|hold|include|get|order)$",
        r"average number of \1 per \2",
    ),
    (
        r"^how many (.+?) (?:does|do|did|has|have)"
        r" (?:an?|each|every|the)"
        r" (?:average |typical )?(.+?)"
        r" (?:have|contain|place"
        r"|placed|make|hold|include|"
        r"get|order) on average$",
        r"average number of \1 per \2",
    ),
    (
        r"^how many (.+?) (?:are there |are )?(?:in" r"|per|for) (?:an?|each|every) (.+?) on average$",
        r"average number of \1 per \2",
    ),
    (
        r"^how many (.+?) (?:does|do|did) (?:the|an)"
        r" average (.+?) (?:have|contain|place|make|hold"
        r"|include|get)$",
        r"average number of \1 per \2",
    ),
    (rf"^(?:what|how much) (?:does|do|did|would) (.+?) {_COST} on average\b", r"average price of \1"),
    (rf"^on average,? (?:what|how much) (?:does|do|did) (.+?) {_COST}\b", r"average price of \1"),
    (
        rf"^(?:what|how much) (?:does|do|did) (.+?) {_COST} (?:together|in total|altogether|all together|in all)\b",
        r"total price of \1",
    ),
    (rf"^(?:what|how much) (?:does|do|did) (.+?) {_COST}\b(?! more| less)", r"price of \1"),
    (r"^how much (?:is|are) (?!the (?:total|average|sum|combined|overall|balance))(?=\w)(.+)$", r"price of \1"),
    (r"^(?:add|sum|total) up (?:all )?(?:of )?(?:the )?", "total of "),
    (r"^sum (?=\w)(?!of\b|up\b|total)(?:all )?(?:the )?", "total of "),
    (r"\bhow much money\b", "how much"),
    (r"^what was (\w+ed) (?:in total|altogether|overall)", r"how much was \1 in total"),
    (r"^how much (?:did|have|do) we (refund|pay back|give back|return)\w*", r"how much was refunded"),
    # shares
    (r"\b(?:how many|what) per ?cent(?:age)? of\b", "percentage of"),
    (r",? (?:in|as a) per ?cent(?:age)?s?$", ""),
    (r"^what (?:fraction|proportion|part|share|portion)\b", "what percentage"),
    (
        r"^out of (?:all )?(?:the |our )?(.+?),?"
        r" (?:how many per ?cent"
        r"|what per ?cent(?:age)?|what"
        r" (?:share|fraction|proportio"
        r"n|part)) (?:is|are|was|were|"
        r"have been|has been) ",
        r"percentage of \1 that are ",
    ),
    # order of words
    (r"^(?:in|from|to|by|with|on|for|at) (?=(?:which|what|how many)\b)", ""),
    (
        r"^how many (?:different |distinct )?(.+?)"
        r" (?:is|are) there (?=(?:at"
        r" least|at most|more than|a"
        r"|an|no|exactly|less|fewer|\d)\b)",
        r"how many \1 contain ",
    ),
    (r"^(?:are|is) there (?:any|some|an?) ", "which "),
    (r"^do (?:we|you) have (?:any|some) ", "which "),
    (
        r"\b(?:that |which )?(?:nobody|no one|no"
        r" customer|none of (?:the"
        r"|our) \w+|no \w+) (?:has |have "
        r"|had )?(?:ever )?(order"
        r"|bought|buy|purchas|borrow|use|rent|"
        r"read|review|visit)(ed|en|s|d|)\b(?! by)",
        lambda match: f"that were never {match[1]}{match[2]}",
    ),
    (r"^(.+?)[:,]? how many (?:are there |do we have )?(?:of|in|for) each(?: \w+)?$", r"number of \1"),
    (r"^(which|what) (.+?) do we have (.+?) in$", r"which \2 do \3 live in"),
    (r"^what (?=(?:has|have|did|does) )(?=.*\b(?:bought|buy|order|ordered|purchase|purchased)\b)", "which products "),
    (r"\bmost (expensive|recent|popular) \w+ first\b", r"most \1 first"),
    (
        r"^where (?:is|are|was|were|does|do|did) (.+?)"
        r" (?:being |been )?(?:sent|shipped|going|go|live"
        r"|living|located|addressed"
        r"|delivered|headed)(?: to)?\b",
        r"address of \1",
    ),
    (r"\bwithout (?:any )?(?:repeats|duplicates|repetition)\b|\bno (?:repeats|duplicates)\b", "each once"),
    (r"\bsplit (?:up )?by\b|\bbroken down by\b|\bbroken out by\b|\bsplit (?:across|per)\b", "by"),
    (
        r"\bby the (\w+) (?:that )?(?:the |our"
        r" )?(customers?|users?"
        r"|members?|people) (?:live|lives|come"
        r"|are) (?:in|from)\b",
        r"by \2 \1",
    ),
)
_COMPILED = [(re.compile(pattern, re.IGNORECASE), replacement) for pattern, replacement in _RULES]


def canonical(question: str) -> str:
    """The question in the grammar's own way of asking."""
    text = re.sub(r"\s+", " ", tidy(question)).strip().rstrip("?.! ")
    for _ in range(3):
        text = _COMPILED[0][0].sub("", text)
    text = plain(text)
    for pattern, replacement in _COMPILED:
        while (shorter := pattern.sub(replacement, text, count=1).strip()) != text:
            text = re.sub(r"\s+", " ", shorter)
            if not pattern.pattern.startswith("^(?:please"):
                break
    return text
