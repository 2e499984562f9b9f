"""General business English: words that name the same thing in one schema or another; what common verbs are about."""

_NOUNS = (
    "customer user client buyer shopper consumer owner holder",
    "member patron reader borrower user person",
    "order purchase sale",
    "product article good merchandise",
    "variant version sku",
    "payment transaction",
    "employee staff worker",
    "supplier vendor",
    "book title",
    "author writer",
    "loan borrowing checkout lending",
    "genre category kind",
    "review rating",
    "film movie",
    "department division",
    "invoice bill",
    "branch location",
    "price cost",
    "zip postcode",
    "phone telephone",
    "salary wage pay",
    "page length",
    "quantity unit",
    "reservation hold booking",
    "brand network",
    "fine penalty",
    "copy exemplar",
    "publisher press",
    "student pupil",
    "teacher instructor",
    "car vehicle",
    "trip journey",
    "city town",
    "country nation",
    "stock inventory",
)
_PHRASES = (
    ("zip", "zip code", "postal code", "post code"),
    ("address1", "street", "street address", "street line"),
    ("email", "email address", "mail address"),
    ("last name", "surname", "family name"),
    ("first name", "given name", "forename"),
    ("payment method", "method of payment", "payment option", "way to pay", "mean of payment"),
    ("order item", "line item", "ordered item", "order line", "item ordered", "item sold", "sold item"),
    ("last four", "last four digit", "last 4 digit", "last 4"),
    ("phone", "phone number", "telephone number"),
    ("transaction type", "kind of transaction", "type of transaction", "payment type", "type of payment"),
    ("cancel reason", "cancellation reason", "reason for cancellation", "reason of cancellation"),
    ("birth date", "date of birth", "birthday"),
    ("page", "page count", "number of page"),
)
_VERBS = {  # a verb's forms, and the nouns of tables that hold what was done
    "order ordered ordering bought buy buying purchase purchased purchasing sold sell": "order purchase sale",
    "pay paid paying spend spent spending": "payment transaction sale invoice",
    "borrow borrowed borrowing loaned lent lend checked-out": "loan borrowing checkout lending rental",
    "rent rented renting": "rental loan",
    "book booked booking reserve reserved reserving": "reservation booking hold",
    "review reviewed reviewing rate rated": "review rating",
    "write wrote written writing": "author writer",
    "enroll enrolled enrolling enrol enrolled": "enrollment enrolment",
    "visit visited": "visit",
    "attend attended": "attendance",
}
MONEY = ("price", "cost", "amount", "total", "fee", "salary", "fine", "balance", "budget", "revenue", "value", "charge")
PLACE = ("city", "state", "country", "zip", "region", "town", "county", "province")
PLACING = ("place", "placed", "made", "make", "has", "have", "had", "get", "got", "own", "hold")


def synonyms(word: str) -> set[str]:
    """Other words for it; not the word itself."""
    return {other for group in _NOUNS if word in group.split() for other in group.split()} - {word}


def phrases(words: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Other ways to say a name of one or several words; the head is the last word."""
    name = " ".join(words)
    found = {tuple(other.split()) for group in _PHRASES if name == group[0] for other in group[1:]}
    return found | {(*words[:-1], other) for other in synonyms(words[-1])}


def deeds(verb: str) -> tuple[str, ...]:
    """The nouns of what this verb does: `bought` → order, purchase, sale."""
    return next((tuple(nouns.split()) for forms, nouns in _VERBS.items() if verb in forms.split()), ())


def stem(word: str) -> str:
    """A verb's bare form, well enough to compare a participle with a column's name."""
    for end in ("ed", "ing", "e", "al"):
        if word.endswith(end) and len(word) > len(end) + 3:
            bare = word[: -len(end)]
            return bare[:-1] if bare[-1] == bare[-2] else bare
    return word


VERBS = frozenset(form for forms in _VERBS for form in forms.split())


def done(noun: str) -> set[str]:
    """The verbs whose doing this noun tells of: `loan` → lent, borrowed and their like."""
    return {form for forms, nouns in _VERBS.items() if noun in nouns.split()[:3] for form in forms.split()}
