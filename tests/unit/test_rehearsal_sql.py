"""Questions in English over two schemas, each with SQL by hand: the rehearsal model's statement gives the same rows."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from rehearsal.sql import Tables, read_tables, write_sql
from retail import relations
from retail.generate import generate
from tests.support.questions import same

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
OVER_CLINIC = [
    ("How many visits were there in 2024?", "select count(*) from visits where visit_date like '2024%'"),
    ("number of visits since March 2024", "select count(*) from visits where visit_date >= '2024-03-01'"),
    ("How many visits were made before 2024?", "select 2"),
    ("visits between March 2024 and July 2024", "select id from visits where id in (3, 4, 5)"),
    ("number of visits per month in 2024", "values ('2024-03', 2), ('2024-07', 1), ('2024-08', 1)"),
    ("visits per year", "values ('2023', 2), ('2024', 4)"),
    ("What is the latest visit?", "select 6"),
    ("Which owners joined in 2020?", "select 'Yan Wu'"),
    ("vets hired before 2016", "values ('Ann', 'Lee'), ('Cyd', 'Orr')"),
    ("List the pets born after 2018", "values ('Tom'), ('Kit')"),
    ("What is the oldest pet?", "select 'Rex'"),
    ("pets without a birth date", "select 'Bun'"),
    ("owners without a phone", "select 'Yan Wu'"),
    ("Which clinics have no vets?", "select 'Lonely'"),
    ("pets that have never had a visit", "select 'Bun'"),
    ("Which owners have no pets?", "select 'Xia Bell'"),
    ("average fee by species", "values ('cat', 105), ('dog', 470 / 3.0)"),
    ("total fee of visits that are not paid", "select 115"),
    ("What is the average salary of vets in Leeds?", "select 46000"),
    ("who has the highest salary?", "values ('Cyd', 'Orr')"),
    ("Which vet has the most visits?", "values ('Ann', 'Lee')"),
    ("How many cats are there?", "select 2"),
    ("pets of Zoe Hart", "values ('Rex'), ('Tom')"),
    ("visits with a fee between 50 and 100", "select id from visits where fee between 50 and 100"),
    ("visits with a fee of at least 200", "values (4), (6)"),
    ("Which species is the most common?", "select 'cat'"),
    ("How many different species are there?", "select 3"),
    ("vets whose speciality is not surgery", "values ('Bob', 'Ray')"),
    ("owners with more than one pet", "values ('Zoe Hart'), ('Yan Wu')"),
    ("How many pets does each owner have?", "values ('Zoe Hart', 2), ('Yan Wu', 2)"),
    ("total fees per vet in 2023", "values ('Ann', 'Lee', 50), ('Bob', 'Ray', 120)"),
    ("What percentage of visits are paid?", "select 100.0 * 4 / 6"),
    ("names and emails of owners of cats", "values ('Zoe Hart', 'zoe@x.org'), ('Yan Wu', 'yan@x.org')"),
    ("the two cheapest visits", "values (1), (3)"),
    ("clinics in Leeds or York", "values ('North Paw'), ('South Tail')"),
    ("Which clinic opened first?", "select 'North Paw'"),
    ("reasons of visits by Ann Lee", "values ('checkup'), ('checkup'), ('injury')"),
]
OVER_STORE = [
    ("How many orders are pending?", "select count(*) from orders where status = 'pending'"),
    ("How many ordres are pendign?", "select count(*) from orders where status = 'pending'"),
    ("How many customers live in California or Oregon?", "select count(*) from users where state in ('CA', 'OR')"),
    ("How many orders went to Boston?", "select count(*) from orders where city = 'Boston'"),
    (
        "customers who have never ordered anything",
        "select first_name, last_name from users where user_id not in (select user_id from orders)",
    ),
    ("orders with exactly 5 items", "select order_id from order_items group by 1 having count(*) = 5"),
    (
        "Which customers ordered more than 15 items?",
        "select first_name, last_name from users join orders using (user_id) join order_items using (order_id) "
        "group by user_id having count(*) > 15",
    ),
    ("total amount of refunds", "select sum(amount) from payments where transaction_type = 'refund'"),
    (
        "How much did customers in Ohio or Wisconsin spend?",
        "select sum(amount) from payments join users using (user_id) where state in ('OH', 'WI') "
        "and transaction_type = 'payment'",
    ),
    ("What is the highest gift card balance?", "select max(balance) from payment_methods"),
    (
        "average price of Tent variants",
        "select avg(price) from variants join products using (product_id) where name = 'Tent'",
    ),
    ("How many variants are unavailable?", "select count(*) from variants where not available"),
    (
        "products with more than 18 variants",
        "select name from products join variants using (product_id) group by 1 having count(*) > 18",
    ),
    (
        "top 3 products by number of variants",
        "select name from products join variants v"
        " using (product_id) group by 1 order by count(*)"
        " desc, v.product_id limit 3",
    ),
    ("Which product is ordered most often?", "select name from order_items group by 1 order by count(*) desc limit 1"),
    ("orders by status", "select status, count(*) from orders group by 1"),
    ("number of customers per state", "select state, count(*) from users group by 1"),
    ("Which states have more than 30 customers?", "select state from users group by 1 having count(*) > 30"),
    ("What is the email of Ada Grant?", "select email from users where first_name = 'Ada' and last_name = 'Grant'"),
    ("customers named Ada", "select first_name, last_name from users where first_name = 'Ada'"),
    ("the last names of customers in Tulsa, sorted alphabetically", "select last_name from users where city = 'Tulsa'"),
    ("What is the status of order #W1005766?", "select status from orders where order_id = '#W1005766'"),
    ("total price of the items in order W1005766", "select sum(price) from order_items where order_id = '#W1005766'"),
    (
        "orders paid with paypal",
        "select distinct order_id from payments join"
        " payment_methods using"
        " (user_id, payment_method_id)"
        " where source = 'paypal'",
    ),
    (
        "customers who bought a Tent and a Kettle",
        "select first_name, last_name from users where user_id in (select user_id from orders join order_items using "
        "(order_id) where name = 'Tent') and user_id in (select user_id from orders join order_items using (order_id) "
        "where name = 'Kettle')",
    ),
    (
        "How many delivered orders do not contain a Backpack?",
        "select count(*) from orders where status = 'delivered' and order_id not in (select order_id from order_items "
        "where name = 'Backpack')",
    ),
    (
        "How many orders are neither pending nor delivered?",
        "select count(*) from orders where status not in ('pending', 'delivered')",
    ),
    ("share of cancelled orders", "select 100.0 * sum(status = 'cancelled') / count(*) from orders"),
    (
        "How many customers do not have a gift card?",
        "select count(*) from users where user_id not"
        " in (select user_id from payment_methods where"
        " source = 'gift_card')",
    ),
    ("average number of items per order", "select 1.0 * count(*) / count(distinct order_id) from order_items"),
    ("variants that cost more than $390", "select item_id from variants where price > 390"),
    ('products whose name contains "Bag"', "select name from products where name like '%bag%'"),
    (
        "How many orders did customers from Wisconsin cancel?",
        "select count(*) from orders o join users u using (user_id) where u.state = 'WI' and status = 'cancelled'",
    ),
    (
        "Number of payments of less than $20, by type",
        "select transaction_type, count(*) from payments where amount < 20 group by 1",
    ),
]
REFUSED = [
    "How many unicorns are there?",
    "Which customers have a premium subscription?",
    "What is the profit per product?",
    "How many orders were placed in March?",
    "orders placed in 2024",
    "Which warehouse holds the most items?",
    "How many blorked orders are pending?",
    "customers in Boston who like jazz",
    "What is the weather in Boston?",
    "average number of orders per customer",
    "How many Tents are there?",
    "Which products have all variants in stock?",
    "orders over $1000",
    "Who ordered the most expensive item?",
    "Which customers live in the same city as Ada Grant?",
]


def _lines(connection: sqlite3.Connection) -> Iterator[str]:
    """The tables as they are shown to the model: all values of a text column where they are few, else three."""
    for (table,) in connection.execute("select name from sqlite_master where type = 'table' order by rowid").fetchall():
        references = {row[3]: f"{row[2]}.{row[4]}" for row in connection.execute(f"pragma foreign_key_list({table})")}
        columns = []
        for _, name, kind, needed, _, key in connection.execute(f"pragma table_info({table})").fetchall():
            query = f"select distinct {name} from {table} where {name} is not null"
            values = [value for (value,) in connection.execute(query)]
            few = kind.lower() == "text" and len(values) <= 30
            told = {"name": name, "type": kind, "key": bool(key), "nullable": not needed and not key}
            told |= {"references": references.get(name), "samples": values if few else values[:3]}
            columns.append({field: value for field, value in told.items() if value})
        yield json.dumps({"name": table, "columns": columns})


@cache
def _clinic() -> tuple[sqlite3.Connection, Tables]:
    connection = sqlite3.connect(":memory:")
    connection.executescript(CLINIC)
    return connection, read_tables(_lines(connection))


@cache
def _store() -> tuple[sqlite3.Connection, Tables]:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)
    with engine.begin() as opened:
        for table in relations.TABLES:
            table.create(opened)
        relations.fill(opened, generate())
    return connection, read_tables(_lines(connection))


def _rows(connection: sqlite3.Connection, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    with closing(connection.execute(sql)) as cursor:
        return [column[0] for column in cursor.description], cursor.fetchall()


@pytest.mark.parametrize(("question", "gold"), OVER_CLINIC)
def test_the_clinic(question: str, gold: str) -> None:
    connection, tables = _clinic()
    written = write_sql(question, tables, "sqlite")
    assert written.sql, written.cannot
    assert same(_rows(connection, gold)[1], *_rows(connection, written.sql)), written.sql


@pytest.mark.parametrize(("question", "gold"), OVER_STORE)
def test_the_store(question: str, gold: str) -> None:
    connection, tables = _store()
    written = write_sql(question, tables, "sqlite")
    assert written.sql, written.cannot
    assert same(_rows(connection, gold)[1], *_rows(connection, written.sql)), written.sql


@pytest.mark.parametrize("question", REFUSED)
def test_what_is_not_understood_is_refused(question: str) -> None:
    written = write_sql(question, _store()[1], "sqlite")
    assert not written.sql
    assert written.cannot


@pytest.mark.parametrize(("question", "gold"), OVER_CLINIC + OVER_STORE)
def test_an_unknown_word_more_is_refused(question: str, gold: str) -> None:
    tables = (_clinic() if (question, gold) in OVER_CLINIC else _store())[1]
    for place in re.finditer(r" (?=\w)", question):
        strange = f"{question[: place.start()]} frobnicated{question[place.start() :]}"
        assert not write_sql(strange, tables, "sqlite").sql, strange


@pytest.mark.parametrize(("question", "gold"), OVER_CLINIC + OVER_STORE)
def test_every_statement_parses_in_both_dialects(question: str, gold: str) -> None:
    sqlglot = pytest.importorskip("sqlglot")
    tables = (_clinic() if (question, gold) in OVER_CLINIC else _store())[1]
    for dialect in ("sqlite", "postgres"):
        assert len(sqlglot.parse(write_sql(question, tables, dialect).sql, dialect=dialect)) == 1


def test_no_tables_no_statement() -> None:
    assert write_sql("How many orders are there?", read_tables(["no json", "[]", "{}"]), "sqlite").cannot
