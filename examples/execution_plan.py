"""A plan of calls is made, printed, approved and carried out. The words after the program are what is asked for.

What can be planned depends on the tools there are. Where there are none for a request, the planner asks, and the
answer here is a call that every Parley can make.
"""

import sys

from examples.running import run
from parley.client import Parley

ANSWER = 'Call calculate with {"expression": "2 * 3.5"}'


async def main(parley: Parley) -> None:
    plans = parley.execution_plans
    plan = await plans.generate(" ".join(sys.argv[1:]) or "Deploy a web application")
    if plan.question:
        print(plan.question)
        plan = await plans.modify(plan, ANSWER)
    print(await plans.format(plan))
    plan = await plans.execute(await plans.approve(plan))  # this is the user's approval
    print(plan.result)


if __name__ == "__main__":
    run(main)
