"""`parley tasks` without a command: asks a few questions, then generates."""

import typer

from cli.tasks.generate import GenerateOptions, GenerateTarget, generate
from shared.settings import Settings

MAX_TASKS = 10_000


async def generate_interactively(settings: Settings) -> int:
    """Ask for the options and generate the tasks."""
    loop = typer.confirm("Use the multi-turn loop?", default=True)
    many = typer.confirm("Make several, varied tasks?", default=False)
    number = _how_many() if many else 1
    if many and loop:
        loop = typer.confirm("The loop for all of them?", default=True)
    user = "" if many else typer.prompt("For which customer (empty: any)?", default="", show_default=False)
    return await generate(GenerateTarget(settings), GenerateOptions(number=number, loop=loop, user=user.strip()))


def _how_many() -> int:
    while not 1 <= (number := typer.prompt("How many?", default=5, type=int)) <= MAX_TASKS:
        typer.echo(f"A number from 1 to {MAX_TASKS}, please.")
    return int(number)
