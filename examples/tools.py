"""An order of the sample store is cancelled: looked up, shown as a change, and done after a yes."""

from examples.running import run
from parley.client import Parley

REQUEST = "I am jude.mendes3817@example.com. Please cancel order #W4260124, I no longer need it."


async def main(parley: Parley) -> None:
    session = await parley.start(REQUEST, workflow="agentflow", settings={"world": "own"})
    shown = await session.wait()
    while shown.approval_request:
        for action in shown.approval_request.actions:
            for change in (await session.preview(action.action_id)).changes:
                print(f"{action.tool}: {change.path}: {change.before} → {change.after}")
            await session.approve(action.action_id)
        shown = await session.wait()
    print(shown.answer or shown.phase)


if __name__ == "__main__":
    run(main)
