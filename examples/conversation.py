"""A program is planned and written. Plan and code are each approved as they are shown."""

from examples.running import run
from parley.client import Parley


async def main(parley: Parley) -> None:
    session = await parley.start("Help me create a simple calculator")
    shown = await session.wait()
    print(shown.plan.text if shown.plan else shown.phase)
    await session.feedback("Add support for floating point numbers")
    await session.wait()
    await session.approve()
    shown = await session.wait()
    print(shown.code.code if shown.code else shown.phase)
    await session.approve()
    await session.send(type="run", stdin="7\n/\n2\n")
    shown = await session.wait()
    print(shown.answer or shown.phase)


if __name__ == "__main__":
    run(main)
