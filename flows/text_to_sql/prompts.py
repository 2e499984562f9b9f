"""The nodes' prompts and reply types. System messages are constant, so that the model caches them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from parley.reply import ONE_OF, Kind, Reply, Text, WordsDraft

CLASSIFY = """
You sort a person's <request> about a database. <tables> are the names of its tables, <previous> is the question before
this one and its SQL, <conversation> what was said earlier; the request may continue either. <feedback> is what the
person has said since the request; it counts as well.
Reply with the kind classification:
1. reason: what the request is about, in one sentence, and what is missing or unsafe, if anything is.
2. category: data if it is a question that these tables may answer, or a query to run or to repair; general if it is not
   about data (greetings, what you can do, what SQL is); unanswerable if it is about things that no table holds; unsafe
   if it asks to change, delete or break into something. If in doubt between data and unanswerable, say data: the tables
   are examined more closely later.
A good reply: {"reply": {"kind": "classification", "reason": "It asks for a count of orders.", "category": "data"}}
"""
REWRITE = """
You turn a person's <request> into one question that can be understood by itself. If it continues <previous_question>
(answered by <previous_sql>) or <conversation>, carry over what still applies. Take <feedback>, which is what the person
has said since, and <findings>, which is what was found before, into account. If the request is vague, settle it in the
most usual way, and put that into the question; otherwise add nothing. Keep names, numbers and dates as they are.
Reply with the kind rewritten: question.
A good reply: {"reply": {"kind": "rewritten", "question": "How many orders of 2024 were returned, by state?"}}
"""
RELEVANT = """
You choose the <tables> (one a line, with columns, keys and sample values) that are needed to answer the <question>, and
those that join them. <feedback> is what the person said about an earlier choice.
Reply with the kind tables: tables (a list of {reason, name}: why it is needed, in a few words, and its name as it is
written), missing (what the question needs and no table has, if nothing useful can be answered without it; normally "").
A good reply: {"reply": {"kind": "tables", "tables": [{"reason": "has their states", "name": "orders"}], "missing": ""}}
"""
TRIM = """
You choose the columns that are needed to answer the <question>: those that are shown, compared, counted, grouped or
sorted by. Keys and references stay in any case. Name tables and columns as <tables> writes them.
Reply with the kind columns: tables (a list of {table, columns}).
A good reply: {"reply": {"kind": "columns", "tables": [{"table": "orders", "columns": ["state", "total"]}]}}
"""
GENERATE = """
You write one query in the given SQL <dialect> that answers the <question> from these <tables> (one a line, with
columns, keys, references and sample values) and no others. Compare with values as the samples write them. If a table or
column has `written`, spell its name that way. Only read: one SELECT, or a WITH that ends in one. Long results are cut
off: aggregate, or sort and LIMIT, where a list would be long. If groups or times are compared, return the column that
names them and up to three columns of numbers, so that a chart can be drawn.
<previous_sql> answered <previous_question>, which the question may continue. <hints> are questions and queries that
this person accepted before. <sql> is the query so far: change what <problem> or <feedback> asks for, and keep the rest.
<feedback> is what the person has said since the request, oldest first; it counts as well, and later words count more.
Reply in one of these ways:
1. query: explanation (one or two sentences on how the query reads the question), sql.
2. cannot: no query can answer the question from these tables; reason says why.
A good reply: {"reply": {"kind": "query", "explanation": "It counts the orders of each state.", "sql": "SELECT state, \
COUNT(*) FROM orders GROUP BY state"}}
"""
FORMAT = """
You answer the <question> from the result of the query <sql>, which <explanation> explains: <columns>, <rows> (the first
of <row_count>; <truncated> says whether there were more than could be read). Say what the result says, in a few
sentences, and nothing that it does not; the person sees the table as well. If a LIMIT has cut the list, say so. If
there are no rows, say that nothing was found.
Reply with the kind answer: text, chart (bar if a few groups are compared, line if something changes over time, else
none).
A good reply: {"reply": {"kind": "answer", "text": "Texas has the most returned orders, 41.", "chart": "bar"}}
"""
GENERAL = """
You answer a person's <request> that is not a question for the database: what you are and can do, what a word of SQL
means. You answer questions about the <tables> by writing SQL that the person sees before it runs; <flows> are all
that can be done here. <previous> is the question before this one. Be short, and claim nothing about the data.
Reply with the kind answer: text.
A good reply: {"reply": {"kind": "answer", "text": "I answer questions about your tables with SQL."}}
"""


class Classification(Kind):
    kind: Literal["classification"] = "classification"
    reason: str = ""
    category: Literal["data", "general", "unanswerable", "unsafe"]


class ClassifyReply(Reply):
    reply: Classification


class Rewritten(Kind):
    kind: Literal["rewritten"] = "rewritten"
    question: Text


class RewriteReply(Reply):
    reply: Rewritten


class RelevantTable(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: str = ""
    name: str


class RelevantTables(Kind):
    kind: Literal["tables"] = "tables"
    tables: list[RelevantTable] = Field(default_factory=list)
    missing: str = ""


class RelevantReply(Reply):
    reply: RelevantTables


class TableColumns(BaseModel):
    model_config = ConfigDict(extra="forbid")

    table: str
    columns: list[str]


class Columns(Kind):
    kind: Literal["columns"] = "columns"
    tables: list[TableColumns] = Field(default_factory=list)


class TrimReply(Reply):
    reply: Columns


class Query(Kind):
    usable = ("sql",)
    notes_in = "explanation"

    kind: Literal["query"] = "query"
    explanation: str = ""
    sql: Text


class Cannot(Kind):
    kind: Literal["cannot"] = "cannot"
    reason: Text


class GenerateReply(Reply):
    reply: Annotated[Query | Cannot, ONE_OF]


class Result(Kind):
    kind: Literal["answer"] = "answer"
    text: Text
    chart: Literal["none", "bar", "line"] = "none"


class FormatReply(Reply):
    reply: Result


class GeneralReply(Reply):
    reply: WordsDraft
