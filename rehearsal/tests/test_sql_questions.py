"""English questions about a small clinic: the model's statement gives the same rows as hand-written SQL."""

import json
import re
import sqlite3
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from rehearsal.sql.followups import rewrite
from rehearsal.sql.schema import Tables, read_tables
from rehearsal.sql.translation import write_sql

CLINIC = """
create table clinics(id integer primary key, name text not null, town text not null, opened_on date not null);
create table vets(id integer primary key, first_name text not null, last_name text not null, salary real not null,
  clinic_id integer not null references clinics(id), hired_on date not null, speciality text not null);
create table owners(id integer primary key, name text not null, email text not null, phone text,
  joined_on date not null);
create table pets(id integer primary key, name text not null, species text not null, birth_date date,
  weight real not null, owner_id integer not null references owners(id));
create table visits(id integer primary key, pet_id integer not null references pets(id), visit_date date not null,
  vet_id integer not null references vets(id), reason text not null, fee real not null, is_paid boolean not null);
insert into clinics values(1,'North Paw','Leeds','2001-05-01'),(2,'South Tail','York','2010-01-01'),
  (3,'Lonely','Hull','2020-01-01');
insert into vets values(1,'Ann','Lee',50000,1,'2015-03-01','surgery'),(2,'Bob','Ray',42000,1,'2018-07-01','dentistry'),
  (3,'Cyd','Orr',61000,2,'2012-02-10','surgery');
insert into owners values(1,'Zoe Hart','zoe@x.org','555-1','2019-01-01'),(2,'Yan Wu','yan@x.org',null,'2020-06-01'),
  (3,'Xia Bell','xia@x.org','555-3','2023-09-09');
insert into pets values(1,'Rex','dog','2016-01-02',20.5,1),(2,'Tom','cat','2019-05-05',4.2,1),
  (3,'Kit','cat','2021-03-03',3.8,2),(4,'Bun','rabbit',null,1.9,2);
insert into visits values(1,1,'2023-01-10',1,'checkup',50,1),(2,1,'2023-03-11',2,'teeth',120,1),
  (3,2,'2024-03-02',1,'checkup',55,0),(4,3,'2024-03-20',3,'injury',200,1),(5,3,'2024-07-01',3,'checkup',60,0),
  (6,1,'2024-08-09',1,'injury',300,1);
"""
ANSWERED = [
    ("How many visits are there?", "select 6"),
    ("How many viists are there?", "select 6"),
    ("owners without a phone", "select 'Yan Wu'"),
    ("Which clinics have no vets?", "select 'Lonely'"),
    ("pets that have never had a visit", "select 'Bun'"),
    ("average fee by species", "values ('cat', 105), ('dog', 470 / 3.0)"),
    ("total fee of visits that are not paid", "select 115"),
    ("What is the average salary of vets in Leeds?", "select 46000"),
    ("Which vet has the most visits?", "values ('Ann', 'Lee')"),
    ("How many cats are there?", "select 2"),
    ("pets of Zoe Hart", "values ('Rex'), ('Tom')"),
    ("visits with a fee between 50 and 100", "values (1), (3), (5)"),
    ("visits with a fee of at least 200", "values (4), (6)"),
    ("How many different species are there?", "select 3"),
    ("names and emails of owners of cats", "values ('Zoe Hart', 'zoe@x.org'), ('Yan Wu', 'yan@x.org')"),
    ("clinics in Leeds or York", "values ('North Paw'), ('South Tail')"),
    ("top 2 vets by number of visits", "values ('Ann', 'Lee', 3), ('Cyd', 'Orr', 2)"),
    ("vets who are not in Leeds, with their salary", "values ('Cyd', 'Orr', 61000)"),
]
FOLLOW_UPS = [
    (("How many pets are there?", "only cats"), "select 2"),
    (("How many pets are there?", "and by species?"), "values ('cat', 2), ('dog', 1), ('rabbit', 1)"),
    (("How many vets are in Leeds?", "and in York?"), "select 1"),
    (("owners without a phone", "how many are they?"), "select 1"),
    (("How many pets are there?", "only cats", "list them"), "values ('Tom'), ('Kit')"),
]
REFUSED = [
    "How many unicorns are there?",
    "visits that Zoe Hart regretted",
    "pets with all visits paid",
    "owners who have only cats",
    "owners with their pets",
    "paid and unpaid visits",
    "dogs that are cats",
    "Which vets in Leeds like jazz?",
    "mean number of visits per pet",
    "visits in Harbour",
    "only in Leeds",
    "cat?",
    "What percentage of visits are paid?",
    "visits per month",
    "How many visits were there in 2024?",
    "Which owners joined in 2020?",
    "the two cheapest visits",
    "owners with more than one pet",
    "Which owner has the fewest pets?",
]


def _lines(connection: sqlite3.Connection) -> Iterator[str]:
    """The schema in the format of a prompt."""
    for (table,) in connection.execute("select name from sqlite_master where type = 'table' order by rowid").fetchall():
        references = {row[3]: f"{row[2]}.{row[4]}" for row in connection.execute(f"pragma foreign_key_list({table})")}
        columns = []
        for _, name, kind, needed, _, key in connection.execute(f"pragma table_info({table})").fetchall():
            query = f"select distinct {name} from {table} where {name} is not null"
            samples = [value for (value,) in connection.execute(query)]
            column = {"name": name, "type": kind, "key": bool(key), "nullable": not needed and not key}
            columns.append(column | {"references": references.get(name), "samples": samples})
        yield json.dumps({"name": table, "columns": columns})


@cache
def clinic() -> tuple[sqlite3.Connection, Tables]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(CLINIC)
    return connection, read_tables(_lines(connection))


def check(question: str, gold: str) -> None:
    """Check that the statement's rows contain the values of the gold rows, row by row."""
    connection, tables = clinic()
    written = write_sql(question, tables, "sqlite")
    assert written.sql, written.cannot
    expected = sorted({str(value) for value in _rounded(row)} for row in connection.execute(gold))
    got = [{str(value) for value in _rounded(row)} for row in connection.execute(written.sql)]
    assert len(got) == len(expected), written.sql
    assert all(any(row <= other for other in got) for row in expected), written.sql


def _rounded(row: tuple[Any, ...]) -> list[Any]:
    return [round(float(value), 2) if isinstance(value, int | float) else value for value in row]


@pytest.mark.parametrize(("question", "gold"), ANSWERED)
def test_a_question_is_answered(question: str, gold: str) -> None:
    check(question, gold)


@pytest.mark.parametrize(("messages", "gold"), FOLLOW_UPS)
def test_a_follow_up_is_answered(messages: tuple[str, ...], gold: str) -> None:
    question = messages[0]
    for request in messages[1:]:
        question = rewrite(request, question)
    check(question, gold)


@pytest.mark.parametrize("question", REFUSED)
def test_an_unsupported_question_is_refused_with_working_examples(question: str) -> None:
    _, tables = clinic()
    written = write_sql(question, tables, "sqlite")
    assert written.sql == ""
    examples = re.findall("“([^”]+)”", written.cannot.partition("Try: ")[2])
    assert len(examples) == 3
    assert all(write_sql(example, tables, "sqlite").sql for example in examples)


@pytest.mark.parametrize(("question", "gold"), ANSWERED)
def test_an_additional_unknown_word_is_refused(question: str, gold: str) -> None:
    for place in re.finditer(r" (?=\w)", question):
        strange = f"{question[: place.start()]} frobnicated{question[place.start() :]}"
        assert not write_sql(strange, clinic()[1], "sqlite").sql, strange


def test_missing_data_is_named() -> None:
    _, tables = clinic()
    assert "“supplier”" in write_sql("Which supplier delivers to York?", tables, "sqlite").cannot


def test_postgres_gets_its_own_dialect() -> None:
    assert "visits.is_paid = TRUE" in write_sql("number of paid visits", clinic()[1], "postgres").sql


def test_without_tables_there_is_no_statement() -> None:
    assert write_sql("How many orders are there?", read_tables(["no json", "[]", "{}"]), "sqlite").cannot
