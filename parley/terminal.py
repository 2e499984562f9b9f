"""The `parley` command as pip installs it: subcommands for a running Parley. The others need a checkout."""

import sys
from pathlib import Path

BUNDLED = Path(__file__).with_name("_terminal")  # only in a wheel: packages that only this command imports
NEED_CHECKOUT = ("bench", "doctor", "rebuild", "secrets", "sql", "tasks", "tools", "up")  # services, packs, databases


def main() -> None:
    """The entry point of the wheel; in a checkout the same as `cli.main`."""
    if BUNDLED.is_dir():
        command = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
        if command in NEED_CHECKOUT and not {"-h", "--help"} & {*sys.argv}:
            sys.exit(f"parley: `parley {command}` needs a checkout of Parley; what pip installs does not have it")
        sys.path.insert(0, str(BUNDLED))
    from cli.main import main as run  # noqa: PLC0415  only now can it be found

    run()
