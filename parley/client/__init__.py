"""The Python client of a running Parley.

async with Parley("http://127.0.0.1:8001", token=...) as client:
    session = await client.start("Cancel order #W1 …", workflow="agentflow")
    shown = await session.wait()
"""

from parley.client.client import Parley as Parley
from parley.client.client import RemoteSession as RemoteSession
from parley.client.connection import Connection as Connection
from parley.client.errors import NotAllowed as NotAllowed
from parley.client.errors import ParleyError as ParleyError
from parley.client.errors import ParleyUnavailable as ParleyUnavailable
from parley.client.errors import RequestRefused as RequestRefused
from parley.client.screen import Screen as Screen
