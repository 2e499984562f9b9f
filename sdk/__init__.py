"""Parley from Python: `Parley` speaks to a running one, `TaskGenerator` has it make test tasks. It holds no model.

async with Parley("http://127.0.0.1:8001", token=...) as parley:
    session = await parley.start("Cancel order #W1 …", workflow="agentflow")
    shown = await session.wait()
"""

from sdk.client import Parley as Parley
from sdk.client import Session as Session
from sdk.errors import NotAllowed as NotAllowed
from sdk.errors import ParleyDown as ParleyDown
from sdk.errors import ParleyError as ParleyError
from sdk.errors import Refused as Refused
from sdk.tasks import TaskGenerator as TaskGenerator
