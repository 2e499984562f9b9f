"""An HTTP client for servers of a test."""

from typing import Any

import httpx2

from tests.support.timeouts import WAIT_TIMEOUT


def http_client(base_url: str = "", **options: Any) -> httpx2.AsyncClient:
    """A client that waits as long as tests do, not five seconds, and reads no certificates, which takes 20 ms."""
    return httpx2.AsyncClient(base_url=base_url, **{"timeout": WAIT_TIMEOUT, "verify": False} | options)
