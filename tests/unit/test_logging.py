"""Log lines are JSON objects, including those of libraries, and contain no secrets."""

import json
import subprocess
import sys
from typing import Any

import pytest

SECRETS = ("sk-abcdefgh12345678", "hunter2", "t0kent0ken", "eyJhbGciOi.x.y")
PROGRAM = """
import logging
import structlog
from pydantic import SecretStr
from shared.logging import configure_logging

configure_logging("planner")
log = structlog.get_logger("test")
"""


def logged(body: str) -> list[dict[str, Any]]:
    """The lines that a program with this body writes, as JSON."""
    completed = subprocess.run([sys.executable, "-c", PROGRAM + body], capture_output=True, text=True, check=True)
    assert completed.stdout == ""
    return [json.loads(line) for line in completed.stderr.splitlines()]


def test_a_log_line_has_service_time_and_context() -> None:
    [line] = logged(
        "with structlog.contextvars.bound_contextvars(session_id='s1'):\n    log.info('drafted', version=2)"
    )
    assert (line["event"], line["service"], line["session_id"], line["version"]) == ("drafted", "planner", "s1", 2)
    assert line["level"] == "info"
    assert line["timestamp"].endswith("Z")


def test_libraries_log_in_the_same_format_and_noisy_libraries_only_warnings() -> None:
    lines = logged(
        "logging.getLogger('some.library').info('hello %s', 'there')\n"
        "logging.getLogger('openai._base_client').info('request')\n"
        "logging.getLogger('openai._base_client').warning('retry')\n"
        "log.debug('unseen')"
    )
    assert [line["event"] for line in lines] == ["hello there", "retry"]
    assert all(line["service"] == "planner" for line in lines)


LEAKS = {
    "a key by its name": "log.info('x', api_key='hunter2', openai_api_key='hunter2', password='hunter2')",
    "a header": "log.info('x', headers={'Authorization': 'Bearer hunter2', 'Cookie': 'a=hunter2'})",
    "deep inside": "log.info('x', request={'a': [{'token': 'hunter2'}, ('Bearer hunter2',)]})",
    "a key in a text": "log.info('refused: sk-abcdefgh12345678 is not known')",
    "a URL with a token": "log.info('x', url='nats://t0kent0ken@127.0.0.1:4222')",
    "several URLs": "log.info('x', url='nats://t0kent0ken@a:1,nats://u:hunter2@b:2')",
    "a database's URL": "log.info('connect postgresql+asyncpg://u:hunter2@db/parley')",
    "a login link": "log.info('open http://127.0.0.1:8001/?token=t0kent0ken&x=1')",
    "an error's repr": "log.info('x', error=repr(OSError('nats://t0kent0ken@h:1 refused')))",
    "an error itself": "log.info('x', error=OSError('nats://t0kent0ken@h:1 refused'))",
    "an object": "log.info('x', thing=SecretStr('hunter2'))",
    "bytes": "log.info('x', body=b'Bearer hunter2')",
    "a traceback": "try:\n    raise OSError('nats://t0kent0ken@h:1')\nexcept OSError:\n    log.exception('failed')",
    "a library's traceback": (
        "try:\n    raise OSError('Bearer hunter2')\nexcept OSError:\n    logging.getLogger('lib').exception('failed')"
    ),
    "a library's arguments": "logging.getLogger('lib').warning('to %s', 'nats://t0kent0ken@h:1')",
    "a header in a text": "log.info('Authorization: Bearer eyJhbGciOi.x.y')",
    "a setting in a text": "log.info('OPENAI_API_KEY=hunter2 was set, and api_key: hunter2, password=\"hunter2\"')",
    "a mapping in a text": "log.info(str({'api_key': 'hunter2', 'x-api-key': 'hunter2', 'Cookie': 'hunter2'}))",
    "bound to the context": "structlog.contextvars.bind_contextvars(token='hunter2')\nlog.info('x')",
}


@pytest.fixture(scope="module")
def logged_leaks() -> dict[str, list[dict[str, Any]]]:
    """The log lines of each leak. One program runs all of them, because starting a program is slow."""
    lines: dict[str, list[dict[str, Any]]] = {name: [] for name in LEAKS}
    output = logged("\n".join(f"log.info('begin', leak={name!r})\n{body}" for name, body in LEAKS.items()))
    current = ""
    for line in output:
        if line["event"] == "begin":
            current = line["leak"]
        else:
            lines[current].append(line)
    return lines


@pytest.mark.parametrize("name", LEAKS)
def test_no_secret_is_written(logged_leaks: dict[str, list[dict[str, Any]]], name: str) -> None:
    assert len(logged_leaks[name]) == 1
    text = json.dumps(logged_leaks[name])
    assert not [secret for secret in SECRETS if secret in text]
    assert "***" in text


def test_text_that_only_resembles_a_secret_is_logged() -> None:
    [line] = logged("log.info('call', prompt_tokens=12, url='http://127.0.0.1:4222/a@b', tokens='many', n=None)")
    assert (line["prompt_tokens"], line["tokens"], line["n"]) == (12, "many", None)
    assert line["url"] == "http://127.0.0.1:4222/a@b"


def test_a_traceback_is_logged() -> None:
    [line] = logged("try:\n    1 / 0\nexcept ZeroDivisionError:\n    log.exception('failed', session_id='s')")
    assert "ZeroDivisionError: division by zero" in line["exception"]
    assert line["level"] == "error"
