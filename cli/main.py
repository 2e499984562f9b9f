"""The `parley` command. Everything heavy is imported inside the command that needs it, so that --help is quick."""

from typing import Annotated, Literal

import typer

app = typer.Typer(
    name="parley",
    help="Parley: a planning agent you can argue with.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
sessions_app = typer.Typer(help="Sessions: list, show, export, purge.", invoke_without_command=True, rich_markup_mode=None)
