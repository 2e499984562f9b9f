"""Synonyms of schema names, and the nouns that verbs refer to."""

_GROUPS = """
customer, user, client, buyer, shopper, owner, person
member, patron, reader, borrower, person
order, purchase
product, article
variant, sku
payment, transaction
payment method, way to pay
order item, ordered item, line item, item ordered, item sold
employee, staff, worker
supplier, vendor
loan, lending
genre, category
film, movie
invoice, bill
price, cost
zip, zip code, postal code, postcode
address1, street, street address
email, email address, mail address
last name, surname, family name
first name, given name
last four, last four digit
phone, phone number
salary, wage
city, town
state, province
"""
GROUPS = [[tuple(phrase.split()) for phrase in line.split(", ")] for line in _GROUPS.strip().splitlines()]
VERBS = {  # a verb's forms, and nouns for the tables that record its acts
    "order ordered bought buy purchase purchased": ("order", "purchase", "sale"),
    "pay paid spend spent": ("payment", "sale"),
    "refund refunded": ("refund",),
    "borrow borrowed lent lend loaned": ("loan", "rental"),
    "rent rented": ("rental",),
    "review reviewed": ("review",),
    "visit visited": ("visit",),
}


def others(words: tuple[str, ...]) -> set[tuple[str, ...]]:
    """Synonyms of a name of one or several words. The last word is its head."""
    whole = {other for group in GROUPS if words in group for other in group}
    heads = {other for group in GROUPS if words[-1:] in group for other in group} if len(words) > 1 else set()
    return (whole | {(*words[:-1], *other) for other in heads}) - {words}


def verb_nouns(verb: str) -> tuple[str, ...]:
    """The nouns for a verb's acts: `bought` gives order, purchase, sale."""
    return next((nouns for forms, nouns in VERBS.items() if verb in forms.split()), ())
