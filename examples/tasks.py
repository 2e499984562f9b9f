"""Generates a test task for agents over the sample store: drafts it, carries it out, checks it, and solves it again."""

from cli.tasks.generator import TaskGenerator
from examples.running import run
from packs.retail.generate import generate
from parley.client import Parley


async def main(parley: Parley) -> None:
    result = await TaskGenerator(parley, generate(), seed=1).generate_task(max_turns=5)
    if not result["success"]:
        print(result["error"])
        return
    task, loop = result["task"], result["agentflow_metadata"]
    print(f"Turns: {loop['turns']}, confidence: {loop['confidence']:.0%}")
    for sub_goal in loop["sub_goals"]:
        print(f"{sub_goal['status']}: {sub_goal['goal']}")
    print(f"Query: {task['q']}")
    print(f"Actions: {', '.join(call['name'] for call in task['agt'])}")


if __name__ == "__main__":
    run(main)
