"""The commands `parley url`, which prints the page's URL, and `parley secrets`, which distributes passwords."""

# ruff: noqa: PLC0415  deferred imports, so that --help is quick

from typing import Annotated

import typer

from cli.entry import load_settings

Replace = Annotated[str, typer.Option("--set", metavar="NAME", help="Read this one from stdin; empty input resets it.")]


def url() -> None:
    """Print the page's URL with the login token, of the local `parley up` or of the gateway's container."""
    from cli.home import find_running
    from cli.programs import page_url

    settings = load_settings()
    running_parley = None if "nats_url" in settings.model_fields_set else find_running(settings.parley_home)
    print(running_parley.page if running_parley else page_url(settings))


def secrets(replace: Replace = "") -> None:
    """In containers: create missing passwords and distribute each to its container."""
    from cli.container_secrets import NoSuchSecret, NotInContainers, distribute_secrets

    try:
        distribute_secrets(load_settings(), replace=replace)
    except NoSuchSecret as error:
        raise typer.BadParameter(str(error), param_hint="--set") from error
    except NotInContainers as error:
        typer.echo(f"parley secrets: {error}", err=True)
        raise typer.Exit(1) from error
