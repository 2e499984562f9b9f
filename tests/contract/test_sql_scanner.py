"""Parley's SQL tokenizer compared with the databases' own scanners."""

from contextlib import closing

import pytest

from bench.sql_scanner import PostgresScanner, compare

pytest_plugins = ("tests.support.postgres",)


def differences(url: str, seed: int, count: int) -> list[tuple[str, str, str]]:
    with closing(PostgresScanner(url)) as server:
        through, wrong = compare(seed, count, server)
    assert min(through.values()) > count / 4
    return wrong


def test_the_databases_cut_what_we_let_through_as_we_do(postgres_server: str) -> None:
    assert differences(postgres_server, seed=1, count=4000) == []


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_they_do_so_for_many_texts(postgres_server: str) -> None:
    assert differences(postgres_server, seed=2, count=100_000) == []
