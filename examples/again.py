"""One session continues after it was done: it asks what comes next, takes the answer as a new request, and is ended."""

from examples.running import run
from parley.client import Parley


async def main(parley: Parley) -> None:
    session = await parley.start("Write FizzBuzz")
    await session.wait()
    await session.approve()
    await session.wait()
    await session.approve()
    screen = await session.wait()
    print(screen.state, screen.continue_.content.options if screen.continue_ else ())
    await session.send(type="continue", content="Continue with feedback")
    screen = await session.wait()
    print(screen.question.content if screen.question else screen.phase)
    await session.answer("Now convert numbers to Roman numerals")
    screen = await session.wait()
    print(screen.plan.goal if screen.plan else screen.phase)
    await session.stop("that is enough")
    await session.send(type="complete")
    print((await session.wait()).state)


if __name__ == "__main__":
    run(main)
