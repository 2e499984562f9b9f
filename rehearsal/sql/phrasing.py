"""Chatty and short ways of asking put into plain ones, before the grammar's own forms: thanks and greetings, who the
talk is about, `X: how many`, telegrams, numbers in words, what is left out of a sum."""

import re
from collections.abc import Callable

from rehearsal.sql.words import NUMBERS

_Rule = tuple[str, str | Callable[[re.Match[str]], str]]
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_PART = r"(?:share|per ?cent(?:age)?|part|fraction|proportion|portion)"
_THERE = (
    r"(?: (?:are|were) there| do we have| have there been| exist| are they| in total| in all| altogether"
    r"| overall)*"
)
_LISTED = re.compile(
    r"\b(?:how|average|avg|mean|min|max|minimum|maximum|range|combined|number|count|total|sum"
    r"|per ?cent\w*|share|top|\w*(?:most|est)|%)\b",
    re.IGNORECASE,
)


def _tens(found: re.Match[str]) -> str:
    return str(_TENS[found[1].lower()] + NUMBERS[found[2].lower()])


def _next(found: re.Match[str]) -> str:
    """`two or three`, where the second is the next number."""
    low, high = (NUMBERS.get(one.lower(), int(one) if one.isdigit() else -1) for one in (found[1], found[2]))
    return f"between {low} and {high}" if 0 <= low == high - 1 else found[0]


def _spoken_of(found: re.Match[str]) -> str:
    """Whom the sentence before is about, in the place of the pronoun."""
    person = found["person"]
    asked = re.sub(r"\b(?:her|his|their) (?=\w)", f"{person}'s ", found["asked"], flags=re.IGNORECASE)
    return re.sub(r"\b(?:she|he|him|her|them|they)\b", person, asked, flags=re.IGNORECASE)


_RULES: tuple[_Rule, ...] = (
    (r"[\s,.!]*\b(?:thanks(?: a lot| so much)?|thank you(?: very much)?|thx|cheers|pls|plz|please)\W*$", ""),
    (r"\s+-+\s+", ", "),
    (r",?\s*\bi mean\b", ""),
    (r"\b(?:by and large|generally speaking|roughly speaking|just out of curiosity|quickly),? ", ""),
    (r"\b(?:somebody|anybody)\b", "someone"),
    (
        r"^(?:i am |i'm |we are )?(?:[^.?!]*?\b)?(?P<person>[A-Z][a-z]+ [A-Z][a-z]+)\b[^.?!]*[.!] (?P<asked>.*"
        r"\b(?:her|his|him|she|he|their|them|they)\b.*)$",
        _spoken_of,
    ),
    # numbers
    (rf"\b({'|'.join(_TENS)})[- ](one|two|three|four|five|six|seven|eight|nine)\b", _tens),
    (r"\b(\w+) or (\w+)\b(?! (?:more|less|fewer))", _next),
    (r"\b(in|from|to|with|of|by|for) either\b", r"\1"),
    # how many
    (r"^(?:the )?head ?count (?:of|for)\b", "number of"),
    (
        rf"^(?!.*\b(?:for each|per|how many .* how many)\b)((?!how |what |which |who ).+?)[\s,:;?.]+how many"
        rf"(?: of (?:them|those|these|such))?{_THERE}$",
        r"how many \1",
    ),
    (
        r"^in how many (\w+) (?:do|does|did) (.+?) (?:turn up|show up|appear|occur"
        r"|come) together$",
        r"how many \1 contain \2",
    ),
    # shares
    (rf"^(?:in|as an?) {_PART}[:,]? how many (?:of )?", "what percentage of "),
    (r"\s*\((?:in )?(?:%|per ?cent)\)", ""),
    (
        rf"^(?:looking at|considering|taking|of|among|out of|for) (?:all )?(.+?), (?:which|what|how (?:big"
        rf"|large) an?) {_PART}"
        r"(?: of (?:them|these|those))? (is|are|was|were|has|have|had|contains?|went|goe?s?|owns?|live|lives) (.+)$",
        r"percentage of \1 that \2 \3",
    ),
    # amounts
    (r"^(?:altogether|in total|overall|all in all),? (?=how much|what amount|what sum|how many)", ""),
    (r"^what (?:amount|sum)(?: of money)? (was|were|has been|have been|did)\b", r"how much \1"),
    (r"^(?:the )?(?:total )?(?:amount of )?money (paid|spent) ", r"how much was \1 "),
    (r"^(?:the )?money (?:that )?we (?:got|received|took|earned) ", "how much was paid "),
    (r"^(how much .*|.*\brefunds?\b.*|.*\bpayments?\b.*), (?:(?:in )?total|summed up|added up)(?=,|$)", r"total \1"),
    (r"^total how much ", "how much "),
    (r"\b(total|combined|overall) (?:value|worth)\b(?= of)", r"\1 price"),
    (r"\bwhose (\w+(?: \w+)?) (?:add up|sum up|amount|come) to\b", r"whose total \1 is"),
    (
        r"\b(?:are|is|was|were) (?:worth|costing) ((?:less|more|fewer) than|over|under|above|below|at least"
        r"|at most|exactly) (\S+(?: dollars| bucks| usd)?) (?:in total|altogether|all in all|together)\b",
        r"have a total price \1 \2",
    ),
    (
        r"^how much (?:have|has|did|do) (.+?) (?:brought|bring|made|make|earned|earn|fetch|fetched)(?: us)?(?: in)?"
        r"(?:,? (?:if|when) you add up .*| in total| altogether)?$",
        r"total price of ordered items that are \1",
    ),
    (
        r"^how much (?:was|were|has been|have been) spent on (.+?)(?:,? (?:together|in total|altogether))?"
        r"((?:,? (?:in|within|looking at|considering|counting) (?:only )?[\w ]*?orders?)?)(?:,? only)?$",
        lambda found: (
            f"total price of ordered items that are {found[1]}"
            f"{re.sub(r'^,? (?:in|within|looking at|considering|counting) (?:only )?', ' in ', found[2])}"
        ),
    ),
    (
        r"^(?:what is |what are )?(?:the |our )?price range (?:of|for) (?:our |the )?(.+?)"
        r"(?:[ ,]+(?:please,? )?(?:from )?(?:the )?(?:cheapest|lowest) (?:and|to) (?:the )?(?:priciest|dearest"
        r"|most expensive|highest))?$",
        r"lowest and highest price of \1",
    ),
    (
        r"^(?:and )?what (?:do|did|does) (.+?) (?:pay|spend)(?: us)?(?: per payment)?,? on average"
        r"(?:,? when (?:they|he|she) (?:pay|pays|paid|spend) (.+))?$",
        lambda found: f"average payment{f' {found[2]}' if found[2] else ''} of {found[1]}",
    ),
    (r"\b(?:that |which )?we (?:have )?(?:ever )?(?:gave|given|made|received|got|had|issued)\b(?! to)", ""),
    # what is left out
    (
        r"[\s,.;?]*\b(?:leave|leaving|keep|keeping|put|putting|set|setting) (?:the |any )?(\w+) (?:aside"
        r"|out)\b",
        r" except \1",
    ),
    (r"[\s,.;?]*\bdo(?: not|n't) (?:subtract|deduct|count|include) (?:the |any )?(\w+)\b", r" except \1"),
    (r"[,;] (?:no|not) (?!duplicate|repeat|matter|repetition|more|less)(\w+)(?=,|$)", r" except \1"),
    (r"\bbut no (?=\w)", "but have no "),
    (r"^(.*?\b(?:sum of|total|average) payments)\b(?! except)(.+?) except (\w+)$", r"\1 except \3\2"),
    # groups
    (r",? (?:one|an?) (?:line|row|number|figure|value|entry|bar) (?:per|for each|for every)\b", " per"),
    (
        r"^(?:break|split) (?:down |up )?(?:the |our |all )?(.+?) (?:down |up )?by (?:the )?(.+?)"
        r"(?:,? how many (?:are )?(?:there )?(?:in|of|for) each(?: \w+)?)?$",
        r"number of \1 by \2",
    ),
    (
        r"\bby (?:the )?(\w+) (?:that |which )?(?:the |their |its )(\w+) (?:live|lives|are|is|come|comes) (?:in"
        r"|from)\b",
        r"by \2 \1",
    ),
    (r"\bby (?:the )?(\w+) of (?:the|their|its) (\w+)\b", r"by \2 \1"),
    (
        r",? (?:but )?(?:please )?only (?:the |those )?\w+ with ((?:more|less|fewer) than|over|under|at least"
        r"|at most) (\w+)"
        r"(?: of (?:them|these|those))?",
        r" where that is \1 \2",
    ),
    (r"^(sum|total|number|amount|average)\b(.*\b(?:per|by|for each)\b.*?),? sorted by (?:the |that )?\1\b", r"\1\2,"),
    (
        r"^(.*\b(?:more|less|over|under|most|fewest|per|by|each)\b.*)[,:.] ((?:[\w ]+, |[\w ]+ and )*?[\w ]+?)(?:,"
        r"| and) (?:the )?"
        r"(?:sum|total|number|count)$",
        r"\1, \2",
    ),
    (r"^(.*\bmost\b.*), (?:sorted|ordered|ranked) from most to (?:least|fewest)$", r"\1"),
    (r",? (?:with|showing) (?:the|their) (?:counts?|numbers?|totals?|sums?|amounts?)(?= *(?:$|,))", ""),
    (
        r"^(?:the |all )?(\w+?)s? names (?:along |together )?with (?:the |their )?number of (.+?) (?:of|for|in"
        r"|per) each(?: one)?$",
        r"number of \2 per \1",
    ),
    # lists
    (r"\bholding (?=between|more|less|over|under|at least|at most|exactly|\$?\d)", "with "),
    (r"^(?:which|what) ((?:\w+(?: \w+)?, )*\w+(?: \w+)?,? and \w+(?: \w+)? (?:of|for) )", r"\1"),
    (r"^(.*\b\w+est\b.*), by (\w+ (?:id|number|name)|name|id)$", r"\1, \2"),
    (r"\b(?:have|has|having|with) (\S+) as (?:their|his|her|its|the|a) ((?:\w+ )?\w+)\b", r"with the \2 \1"),
    (r"\b(?:turn|show|pop)s? up in\b", "appear in"),
    (
        r"^(which|what) (.+?) (?:occur|exist|appear|are there|do we find|are found) among (.+?)(?=[?,.]"
        r"|$)",
        r"\1 \2 do \3 have",
    ),
    (r"\b(?:every|each) \w+ only once\b", "each once"),
    (r"\bno (?:duplicates|repeats|repetitions?)\b", "each once"),
    (r"\b(a|an) (\w+(?: \w+)?) as well as (an?) ", r"\1 \2 and \3 "),
    (r"^(.*\b(?:with|have|has|contain|containing|had)\b.*) in (?:them|it)\b", r"\1"),
    (r"^what (?:is|was|are|were) in (?=.*\borders?\b)", "which items are in "),
    (r"\b(?:that )?we have for (?=[A-Z])", "of "),
    (r"\b(who|which|what)\b (.*?), (?:and )?i (?:need|want) ", r"\1 \2, "),
)
_COMPILED = [(re.compile(pattern, re.IGNORECASE if "[A-Z]" not in pattern else 0), to) for pattern, to in _RULES]


def plain(question: str) -> str:
    """The question said plainly."""
    text = question
    for pattern, replacement in _COMPILED:
        text = re.sub(r"\s+", " ", pattern.sub(replacement, text)).strip()
    if not _LISTED.search(text):
        text = re.sub(r"\b(?:of|for) (?:each|every) (?!of\b)", "of the ", text, count=1)
    return text.rstrip("?.! ")
