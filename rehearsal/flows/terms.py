"""Talk that is not about data: greetings, questions about the system, and what words of SQL mean."""

import re

from rehearsal.flows.words import holds_sql, plain

MEANINGS = {
    "left join": "A LEFT JOIN keeps every row of the first table; where the second has nothing that fits, its "
    "columns are NULL.",
    "right join": "A RIGHT JOIN keeps every row of the second table, also where the first one has nothing that fits.",
    "inner join": "An INNER JOIN keeps only the pairs of rows that fit together; rows without a partner are left out.",
    "full join": "A FULL JOIN keeps all rows of both tables and fills with NULL what has no partner.",
    "cross join": "A CROSS JOIN pairs every row of one table with every row of the other.",
    "self join": "A self join pairs the rows of a table with rows of the same table, each under a name of its own.",
    "join": "A JOIN puts rows of two tables side by side, mostly where a key of one refers to the other.",
    "group by": "GROUP BY puts rows with the same values into groups, so that COUNT, SUM or AVG give one result each.",
    "order by": "ORDER BY sorts the rows of a result, ascending or with DESC descending.",
    "having": "HAVING keeps only the groups that meet a condition; WHERE does that for rows, before they are grouped.",
    "where": "WHERE keeps only the rows that meet a condition, before they are grouped or counted.",
    "distinct": "DISTINCT leaves out rows of a result that are the same as another one.",
    "limit": "LIMIT says how many rows of a result are given at most.",
    "union": "UNION puts the rows of two results below each other and drops doubles; UNION ALL keeps them.",
    "index": "An index is a sorted copy of some columns by which rows are found without reading the whole table.",
    "primary key": "A primary key is the column (or columns) whose value names exactly one row of a table.",
    "foreign key": "A foreign key is a column whose values name rows of another table, by that table's key.",
    "key": "A key names rows: a primary key those of its own table, a foreign key those of another.",
    "view": "A view is a stored query that can be used like a table.",
    "schema": "A schema is a database's plan: its tables, their columns and how they refer to each other.",
    "table": "A table holds rows of one kind, all with the same columns.",
    "column": "A column is one named value that every row of a table has, such as a price or a status.",
    "row": "A row is one entry of a table: one order, one customer, one product.",
    "null": "NULL stands for a value that is not known; it equals nothing, and is found with IS NULL.",
    "aggregate": "An aggregate function makes one value of many rows: COUNT, SUM, AVG, MIN or MAX.",
    "subquery": "A subquery is a query inside another one, which uses its result as a value, a list or a table.",
    "cte": "A common table expression (WITH … AS) names the result of a query for the rest of the statement.",
    "window function": "A window function computes a value from the rows around each row, such as a rank, and "
    "keeps all rows.",
    "transaction": "A transaction is a series of statements that happen all together or not at all.",
    "query": "A query is a statement that asks a database for rows; in SQL it begins with SELECT.",
    "normalization": "Normalization splits data into tables so that every fact is stored once.",
    "injection": "An SQL injection is text that, pasted into a statement, changes what it does; parameters cannot.",
    "sqlite": "SQLite is a database that lives in one file and needs no server.",
    "postgresql": "PostgreSQL is a database server; Parley asks it in its own dialect of SQL and only reads.",
    "database": "A database keeps data in tables and answers queries about it.",
    "sql": "SQL is the language for asking databases: SELECT says which columns, FROM which tables, WHERE which rows.",
}
_SPELLINGS = {
    "left outer join": "left join",
    "right outer join": "right join",
    "full outer join": "full join",
    "outer join": "full join",
    "indexes": "index",
    "indices": "index",
    "aggregate function": "aggregate",
    "common table expression": "cte",
    "sub-query": "subquery",
    "normalisation": "normalization",
    "postgres": "postgresql",
    "sql injection": "injection",
    "relational database": "database",
    "queries": "query",
    "subqueries": "subquery",
}
_TERM_WORDS = "|".join(sorted((*MEANINGS, *_SPELLINGS), key=len, reverse=True))
_TERM = re.compile(rf"\b(?:{_TERM_WORDS})(?=s?\b)")
_ASKS_TERM = re.compile(
    r"\b(?:what(?:'s| is| are| does| do)|explain|define|meaning of|describe|tell me about|how (?:do|does)|teach me"
    r"|difference between|when (?:do|should) (?:i|one|you)(?: use)?)\b(?: (?:me|what|an?|the|about|term|meaning"
    r"|difference"
    rf"|between|of|sql))*[ `'\"]+(?:{_TERM_WORDS})s?[`'\"]?(?: (?:in|of|with) (?:an? )?(?:sql"
    rf"|(?:relational )?databases?"
    rf"|general))?(?: (?:and|or|vs\.?|versus) (?:an? )?[`'\"]?(?:{_TERM_WORDS})s?[`'\"]?)?"
    r"(?: (?:is|are|means?|works?|do|does|in sql|clause|stands?|for|good|differ))*\W*$"
)
LONGEST_GREETING = 80
_GREETING = re.compile(
    r"(?:hi|hello|hey|howdy|good (?:morning|afternoon|evening|day)|greetings|thanks?|thank you(?: \w+){0,3}|bye"
    r"|goodbye|cheers|how are you|nice to meet you|there|parley|everyone|so much|today|doing|help|\W)+"
)
_ABOUT = re.compile(
    r"\b(?:what|which|how|who)\b[^.;!]{0,30}\b(?:can|could|do|are|does) (?:you|this|parley|it)\b(?! (?:think"
    r"|have on|need))"
    r"|\bwho (?:are|made|built) you\b|\bare you (?:a|an|chatgpt|human|real)\b|\bwhat(?:'s| is) (?:your|parley)\b"
    r"|\bhow (?:do|can|should) i (?:use|ask|start|work with|phrase)\b|\bparley\b|\byour name\b"
    r"|\b(?:what|which) (?:kinds? of )?(?:tables|flows|data|questions|databases?|dialects?)\b[^.;!]{0,20}\b(?:are|is|do"
    r"|can|does)\b[^.;!]{0,15}\b(?:there|you (?:have|know)|exist|available|here|ask|i|answer|this|support|understand)\b"
    r"|\b(?:tell|write|sing) me (?:a|an) (?:joke|poem|story|song)\b"
)
_EXPLAIN = re.compile(
    r"^(?:please |can you |could you )*(?:explain|describe)\b|\bwhat does (?:this|that|the)\b[^.;]{0,30}\b(?:do|mean)\b"
)
_COUNTS = re.compile(r"\bhow (?:many|much)\b")


def is_greeting(request: str) -> bool:
    lower = plain(request)
    return len(lower) <= LONGEST_GREETING and bool(_GREETING.fullmatch(lower))


def is_general(request: str) -> bool:
    """Whether it is small talk, or a question about the system or about what words of SQL mean."""
    lower = plain(request)
    if holds_sql(request):
        return bool(_EXPLAIN.search(lower))
    if is_greeting(request) or asked_terms(request):
        return True
    return bool(_ABOUT.search(lower)) and not _COUNTS.search(lower)


def asked_terms(request: str) -> list[str]:
    """The words of SQL whose meaning is asked for, as `MEANINGS` has them."""
    lower = plain(request)
    if holds_sql(request) or not _ASKS_TERM.search(lower):
        return []
    found = [_SPELLINGS.get(match[0], match[0]) for match in _TERM.finditer(lower)]
    special = [one for one in found if one not in ("sql", "database")]
    return list(dict.fromkeys(special or found))
