"""How the commands about plans and templates run: a client for the gateway, what comes of it, and the exit status."""

# ruff: noqa: PLC0415  imports where they are needed: --help is quick

import shutil
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parley.client import Parley
    from parley.client.execution_plans import ExecutionPlans
    from parley.protocol.execution_plans import ExecutionPlan
    from shared.settings import Settings


def print_result(ask: "Callable[[ExecutionPlans], Awaitable[ExecutionPlan]]", url: str, *, as_json: bool) -> None:
    """Print the plan that comes of it, and what can be done with it."""

    async def shown(plans: "ExecutionPlans") -> int:
        return print_plan(await ask(plans), as_json=as_json)

    run_with_plans(shown, url)


def print_plan(plan: "ExecutionPlan", *, as_json: bool) -> int:
    """Print it; 1 where it failed."""
    from cli.plan_next import describe
    from cli.visible import print_visible

    print_visible(plan.model_dump_json(indent=1) if as_json else describe(plan, columns()))
    return exit_code(plan)


def exit_code(plan: "ExecutionPlan") -> int:
    """The exit status."""
    return 1 if plan.status == "failed" or plan.problem else 0


def columns() -> int:
    from cli.plan_layout import WIDEST

    return min(shutil.get_terminal_size().columns, WIDEST)


def run_with_plans(work: "Callable[[ExecutionPlans], Awaitable[int]]", url: str) -> None:
    run_with_client(lambda parley: work(parley.execution_plans), url)


def run_with_client(work: "Callable[[Parley], Awaitable[int]]", url: str, *, group: str = "plan") -> None:
    """Run a command of this group with a client. Its `list` is named where what it asks for is not there."""
    from cli import main
    from cli.command import Declined
    from cli.gateway import explained, find_gateway
    from parley.client import Parley, ParleyError

    async def command(settings: "Settings") -> int:
        gateway = find_gateway(settings, url)
        try:
            async with Parley(gateway.url, token=gateway.token, patience=3) as parley:
                return await work(parley)
        except ParleyError as error:
            more = f"\nYours: parley {group} list" if error.code == "not_found" else ""
            raise Declined(explained(error) + more) from error

    main._run(group, command)
