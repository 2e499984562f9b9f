"""A question about data: the path that was planned for it, the query that was run, and the answer."""

from examples.running import run
from parley.client import Parley


async def main(parley: Parley) -> None:
    session = await parley.start("How many orders are pending?", workflow="flow", settings={"confirm": "path"})
    shown = await session.wait()
    print("\n".join(shown.path.planned_execution_path if shown.path else ()))
    await session.approve()
    shown = await session.wait()
    while shown.question:
        print(shown.question.content)
        await session.answer("yes")
        shown = await session.wait()
    while shown.approval_request:
        await session.approve()
        shown = await session.wait()
    print(shown.answer or shown.phase)


if __name__ == "__main__":
    run(main)
