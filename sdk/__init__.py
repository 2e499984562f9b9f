"""Parley from Python: `Parley` speaks to a running one. It holds no model.

async with Parley("http://127.0.0.1:8001", token=...) as parley:
    session = await parley.start("Cancel order #W1 …", workflow="agentflow")
    shown = await session.wait()
"""

from sdk.client import Parley as Parley
from sdk.client import Session as Session
from sdk.connection import Connection as Connection
from sdk.errors import NotAllowed as NotAllowed
from sdk.errors import ParleyDown as ParleyDown
from sdk.errors import ParleyError as ParleyError
from sdk.errors import Refused as Refused
