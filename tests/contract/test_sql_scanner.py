"""Parley's SQL tokenizer compared with the databases' own scanners."""

from contextlib import closing

import pytest

from tests.support.sql_scanner import PostgresScanner, compare

pytest_plugins = ("tests.support.postgres",)


def differences(url: str, seed: int, count: int) -> list[tuple[str, str, str]]:
    """The random texts that Parley accepts and a database tokenizes in another way."""
    with closing(PostgresScanner(url)) as server:
        accepted, wrong = compare(seed, count, server)
    assert min(accepted.values()) > count / 4
    return wrong


def test_databases_tokenize_accepted_sql_as_parley_does(postgres_server: str) -> None:
    assert differences(postgres_server, seed=1, count=4000) == []


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_databases_tokenize_many_accepted_texts_as_parley_does(postgres_server: str) -> None:
    assert differences(postgres_server, seed=2, count=100_000) == []
