"""`parley tasks` on a terminal: a few questions, and then what `generate` does."""

import typer

from cli.tasks.generate import Place, Wanted, generate
from shared.settings import Settings

MOST = 10_000


async def ask(settings: Settings) -> int:
    """One task or several, with the loop or without."""
    loop = typer.confirm("Use the multi-turn loop?", default=True)
    several = typer.confirm("Make several, varied tasks?", default=False)
    number = _how_many() if several else 1
    if several and loop:
        loop = typer.confirm("The loop for all of them?", default=True)
    user = "" if several else typer.prompt("For which customer (empty: any)?", default="", show_default=False)
    return await generate(Place(settings), Wanted(number=number, loop=loop, user=user.strip()))


def _how_many() -> int:
    while not 1 <= (number := typer.prompt("How many?", default=5, type=int)) <= MOST:
        typer.echo(f"A number from 1 to {MOST}, please.")
    return int(number)
