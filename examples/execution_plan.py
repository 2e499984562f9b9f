"""Makes, prints, approves and executes a plan of tool calls. The command-line arguments are the request.

If no tool fits the request, the planner asks. The answer here names two calls that every Parley can make: they write
a page to the session's files and read it again.
"""

import sys

from examples.running import run
from parley.client import Parley

ANSWER = """Call write_file with {"name": "site/index.html", "text": "<h1>It works</h1>"}
and then call read_file with {"name": "site/index.html"}"""


async def main(parley: Parley) -> None:
    plans = parley.execution_plans
    plan = await plans.generate(" ".join(sys.argv[1:]) or "Deploy a web application")
    if plan.question:
        print(plan.question)
        plan = await plans.modify(plan, ANSWER)
    print(await plans.format(plan))
    plan = await plans.approve(plan, wait=None)  # this is the user's approval
    print(plan.result)
    print(f"The last step gave: {plan.steps[-1].output}" if plan.steps else plan.status)


if __name__ == "__main__":
    run(main)
