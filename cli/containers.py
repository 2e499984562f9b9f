"""The commands that containers need: `parley url` says where to log in, `parley secrets` hands out passwords."""

# ruff: noqa: PLC0415  imports where they are needed

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shared.settings import Settings

Replace = Annotated[str, typer.Option("--set", metavar="NAME", help="Take this one from stdin; nothing: as at first.")]


def _settings() -> "Settings":
    from cli import main

    return main._settings()


def url() -> None:
    """Where the page is, with the login token: of the `parley up` that runs here, or in containers of the gateway."""
    from cli.home import running
    from cli.services import page_url

    settings = _settings()
    found = None if "nats_url" in settings.model_fields_set else running(settings.parley_home)
    print(found.page if found else page_url(settings))


def secrets(replace: Replace = "") -> None:
    """In containers: make the passwords that are missing, and give each container its own."""
    from cli.container_secrets import NoSuchSecret, NotInContainers, share

    try:
        share(_settings(), replace=replace)
    except NoSuchSecret as error:
        raise typer.BadParameter(str(error), param_hint="--set") from error
    except NotInContainers as error:
        typer.echo(f"parley secrets: {error}", err=True)
        raise typer.Exit(1) from error
