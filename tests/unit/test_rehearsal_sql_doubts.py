"""Questions that are easily taken for others: each becomes the statement that is meant, or none at all."""

import asyncio
import sqlite3
from contextlib import closing
from functools import cache

import pytest

from rehearsal.sql import Tables, read_tables, write_sql
from rehearsal.sql.agreement import contradiction
from sql.database import open_database
from tests.support.questions import same, store_database

PAID = "from payments join users using (user_id) where transaction_type = 'payment'"
BOUGHT = "select user_id from orders join order_items using (order_id) where name"
IN_2023 = "t.d >= '2023-01-01' AND t.d < '2024-01-01'"
MEANT = {
    # which rows an amount is of
    "What is the total amount of payments made by paypal?": "select sum(amount) from payments join payment_methods "
    "using (user_id, payment_method_id) where source = 'paypal' and transaction_type = 'payment'",
    "total amount of transactions": "select sum(amount) from payments",
    "What percentage of the payments are refunds?": "select 100.0 * sum(transaction_type = 'refund') / count(*) "
    "from payments",
    "total amount spent by customers who ordered a Tent": f"select sum(amount) {PAID} and user_id in "
    f"({BOUGHT} = 'Tent')",
    "total price of tents in stock": "select sum(price) from variants join products using (product_id) "
    "where name = 'Tent' and available",
    "what is the price of the cheapest available tent": "select min(price) from variants join products "
    "using (product_id) where name = 'Tent' and available",
    "minimum price for each product": "select name, min(price) from variants join products using (product_id) "
    "group by 1",
    "who paid the most with paypal": "select first_name, last_name from users join payments using (user_id) "
    "join payment_methods using (user_id, payment_method_id) where source = 'paypal' and transaction_type = 'payment' "
    "group by user_id order by sum(amount) desc limit 1",
    "emails of customers who paid more than 500 dollars": f"select email {PAID} group by user_id "
    "having sum(amount) > 500",
    "which customer got the biggest refund": "select first_name, last_name from users join payments using (user_id) "
    "where transaction_type = 'refund' order by amount desc limit 1",
    # what a condition is said of
    "Which customers ordered a Tent and live in Oregon?": "select first_name, last_name from users where state = 'OR' "
    f"and user_id in ({BOUGHT} = 'Tent')",
    "percentage of customers with orders in Oregon": "select 100.0 * sum(user_id in (select user_id from orders "
    "where state = 'OR')) / count(*) from users",
    "payment methods of customers with pending orders": "select user_id, payment_method_id from payment_methods "
    "where user_id in (select user_id from orders where status = 'pending')",
    "pending and cancelled orders of Ada Grant or Leon Carver": "select order_id from orders join users using (user_id)"
    " where status in ('pending', 'cancelled') and (first_name, last_name) in (values ('Ada', 'Grant'), "
    "('Leon', 'Carver'))",
    # two rows are not one
    "customers who ordered a Tent but not a Kettle": "select first_name, last_name from users where user_id in "
    f"({BOUGHT} = 'Tent') and user_id not in ({BOUGHT} = 'Kettle')",
    "which customers have a visa but no mastercard": "select first_name, last_name from users where user_id in "
    "(select user_id from payment_methods where brand = 'visa') and user_id not in "
    "(select user_id from payment_methods where brand = 'mastercard')",
    # what is counted
    "How many Tents were ordered?": "select count(*) from order_items where name = 'Tent'",
    "how many tents cost more than 200 dollars": "select count(*) from variants join products using (product_id) "
    "where name = 'Tent' and price > 200",
    "How many orders have two or more payments?": "select 0",
    # a line for each part
    "product names and prices in order #W1005766": "select name, price from order_items where order_id = '#W1005766'",
}
NOT_MEANT = [
    "How much did customers in Boston pay for tents?",  # a payment is for a whole order
    "how many customers spent more than 1000 dollars on tents",
    "customer who spent the most on a single order",
    "What's the total amount of pending orders?",
    "sum of all amounts",
    "average price of pending orders",
    "average amount paid per order",
    "how much did order #W1005766 cost",
    "How many different items are in pending orders?",
    "how many kinds of Tents are there",
    "number of customers and orders",
    "number of customers by number of orders",
    "names of customers with their pending orders",
    "orders with their items",
    "Which customer's order contains the most items?",
    "for each customer in Boston list their orders",
    "which customers used paypal",
    "the most popular product in Boston",
    "products with all variants under 50 dollars",
    "customers who have only cancelled orders",
    "cities without pending orders",
    "pending orders that are cancelled",
    "count of available and unavailable variants",
    "How many orders did the 3 best customers place?",
]


@cache
def _store() -> Tables:
    async def lines() -> list[str]:
        database = open_database(f"sqlite:///{store_database()}")
        schema = await database.schema()
        await database.aclose()
        return schema.lines()

    return read_tables(asyncio.run(lines()))


@pytest.mark.parametrize(("question", "gold"), MEANT.items())
def test_the_rows_that_are_meant(question: str, gold: str) -> None:
    written = write_sql(question, _store(), "sqlite")
    assert written.sql, written.cannot
    with closing(sqlite3.connect(store_database())) as connection:
        wanted = connection.execute(gold).fetchall()
        cursor = connection.execute(written.sql)
        assert same(wanted, [column[0] for column in cursor.description], cursor.fetchall()), written.sql


@pytest.mark.parametrize("question", NOT_MEANT)
def test_what_may_be_meant_in_two_ways_is_refused(question: str) -> None:
    written = write_sql(question, _store(), "sqlite")
    assert (written.sql, bool(written.cannot)) == ("", True)


@pytest.mark.parametrize(
    ("where", "strictly", "found"),
    [
        (["t.a = 'x'", "t.a = 'y'"], False, True),
        (["t.a = 'x'", "(t.b = 1 AND (t.a = 'y'))"], False, True),
        (["t.a = 'x'", "(t.a = 'y' OR t.b = 1)"], False, False),
        (["t.a = 'x'", "EXISTS (SELECT 1 FROM u WHERE t.a = 'y')"], False, False),
        (["t.a = 'x'", "NOT (t.a = 'y')"], False, False),
        (["t.a = 'x'", "(t.a IS NULL OR NOT (t.a = 'y'))"], True, True),
        ([IN_2023, "NOT (t.d >= '2024-01-01' AND t.d < '2025-01-01')"], False, True),
        ([IN_2023, "NOT (t.d >= '2023-03-01' AND t.d < '2023-04-01')"], False, False),
        (["t.n BETWEEN 1 AND 2", "t.n = 1"], False, False),
    ],
)
def test_what_no_row_can_be_is_found(where: list[str], strictly: bool, found: bool) -> None:
    assert bool(contradiction(where, strictly=strictly)) == found
