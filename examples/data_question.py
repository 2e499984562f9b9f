"""Asks a question about data, and prints the planned path, the questions on the way, and the answer."""

from examples.running import run
from parley.client import Parley


async def main(parley: Parley) -> None:
    session = await parley.start("How many orders are pending?", workflow="flow", settings={"confirm": "path"})
    screen = await session.wait()
    print("\n".join(screen.path.planned_execution_path if screen.path else ()))
    await session.approve()
    screen = await session.wait()
    while screen.question:
        print(screen.question.content)
        await session.answer("yes")
        screen = await session.wait()
    while screen.approval_request:
        await session.approve()
        screen = await session.wait()
    print(screen.answer or screen.phase)


if __name__ == "__main__":
    run(main)
