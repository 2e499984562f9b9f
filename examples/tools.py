"""Cancels an order of the sample store: looks it up, shows the change, and makes it once approved."""

from examples.running import run
from parley.client import Parley

REQUEST = "I am jude.mendes3817@example.com. Please cancel order #W4260124, I no longer need it."


async def main(parley: Parley) -> None:
    session = await parley.start(REQUEST, workflow="agentflow", settings={"world": "own"})
    screen = await session.wait()
    while screen.approval_request:
        for action in screen.approval_request.actions:
            for change in (await session.preview(action.action_id)).changes:
                print(f"{action.tool}: {change.path}: {change.before} → {change.after}")
            await session.approve(action.action_id)
        screen = await session.wait()
    print(screen.answer or screen.phase)


if __name__ == "__main__":
    run(main)
