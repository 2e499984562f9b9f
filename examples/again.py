"""One session goes on after it was done: it asks what comes next, takes the answer as a new request, and is ended."""

from examples.running import run
from parley.client import Parley


async def main(parley: Parley) -> None:
    session = await parley.start("Write FizzBuzz")
    await session.wait()
    await session.approve()
    await session.wait()
    await session.approve()
    shown = await session.wait()
    print(shown.state, shown.continue_.content.options if shown.continue_ else ())
    await session.send(type="continue", content="Continue with feedback")
    shown = await session.wait()
    print(shown.question.content if shown.question else shown.phase)
    await session.answer("Now convert numbers to Roman numerals")
    shown = await session.wait()
    print(shown.plan.goal if shown.plan else shown.phase)
    await session.stop("that is enough")
    await session.send(type="complete")
    print((await session.wait()).state)


if __name__ == "__main__":
    run(main)
