"""Plans and writes a program. Plan and code are each approved before the next step."""

from examples.running import run
from parley.client import Parley


async def main(parley: Parley) -> None:
    session = await parley.start("Help me create a simple calculator")
    screen = await session.wait()
    print(screen.plan.text if screen.plan else screen.phase)
    await session.feedback("Add support for floating point numbers")
    await session.wait()
    await session.approve()
    screen = await session.wait()
    print(screen.code.code if screen.code else screen.phase)
    await session.approve()
    await session.send(type="run", stdin="7\n/\n2\n")
    screen = await session.wait()
    print(screen.answer or screen.phase)


if __name__ == "__main__":
    run(main)
