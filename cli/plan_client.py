"""Runs the commands about plans and templates with a client of the gateway, and prints their results."""

# ruff: noqa: PLC0415  deferred imports, so that --help is quick

import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from cli.entry import run_with_settings

if TYPE_CHECKING:
    from parley.client import Parley
    from parley.client.execution_plans import ExecutionPlans
    from parley.protocol.execution_plans import ExecutionPlan
    from shared.settings import Settings


def print_result(request: "Callable[[ExecutionPlans], Awaitable[ExecutionPlan]]", url: str, *, as_json: bool) -> None:
    """Print the resulting plan and what to type next."""

    async def print_requested(plans: "ExecutionPlans") -> int:
        return print_plan(await request(plans), as_json=as_json)

    run_with_plans(print_requested, url)


def print_plan(plan: "ExecutionPlan", *, as_json: bool) -> int:
    """Print a plan and return the exit code."""
    from cli.plan_rendering import describe
    from cli.text import print_visible

    print_visible(plan.model_dump_json(indent=1) if as_json else describe(plan, columns()))
    return plan_exit_code(plan)


def print_rows(rows: Sequence[Sequence[str]]) -> None:
    """Print rows in aligned columns, cut to the width of a terminal."""
    from cli.plan_rendering import align_columns
    from cli.text import print_visible

    for line in align_columns(rows, shutil.get_terminal_size().columns if sys.stdout.isatty() else None):
        print_visible(line)


def plan_exit_code(plan: "ExecutionPlan") -> int:
    """1 if the plan has failed, else 0."""
    return 1 if plan.status == "failed" or plan.problem else 0


def columns() -> int:
    from cli.plan_rendering import MAX_WIDTH

    return min(shutil.get_terminal_size().columns, MAX_WIDTH)


def run_with_plans(work: "Callable[[ExecutionPlans], Awaitable[int]]", url: str) -> None:
    run_with_client(lambda parley: work(parley.execution_plans), url)


def run_with_client(work: "Callable[[Parley], Awaitable[int]]", url: str, *, group: str = "plan") -> None:
    """Run a command of `parley {group}` with a client. If something is not found, the error names its `list`."""
    from cli.command import Declined
    from cli.gateway import explain, find_gateway
    from parley.client import Parley, ParleyError

    async def command(settings: "Settings") -> int:
        gateway = find_gateway(settings, url)
        try:
            async with Parley(gateway.url, token=gateway.token, timeout=3) as parley:
                return await work(parley)
        except ParleyError as error:
            advice = f"\nYours: parley {group} list" if error.code == "not_found" else ""
            raise Declined(explain(error) + advice) from error

    run_with_settings(group, command)
