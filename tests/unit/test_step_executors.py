"""What a step executor may do with the tool of its step: run it, and run a change once."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import JsonValue

from parley.events.values import Effect, Step
from parley.protocol.tools import ToolSpec
from parley.step_executor import Result, StepContext, StepExecutor
from services.executor import step_executors
from services.executor.step_executors import StepExecutors
from services.executor.tools import Call, RegisteredTool
from services.executor.tools import Result as Outcome
