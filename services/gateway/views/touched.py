"""What a step of a plan reaches, read off its call. Pure.

Only what the arguments say as they stand: what another step gives is not known before the plan runs.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from pydantic import JsonValue

from parley.events.values import Step
from parley.protocol.screen import Touched
from shared.domain.references import references
from shared.plan_checks.calls import polled_call

FILE_ARGUMENTS = ("file", "file_name", "filename", "path")
MOST = 20  # that are named


def touched(step: Step) -> tuple[Touched, ...]:
    """The servers of the URLs, the files and the tables that the step's arguments name, each once.

    Those of a step that polls are named by the call that it makes at each look.
    """
    step = polled_call(step) or step
    arguments = {name: value for name, value in (step.arguments or {}).items() if not references(value)}
    file_arguments = (*FILE_ARGUMENTS, *(("name",) if (step.tool or "").endswith("_file") else ()))
    found = [Touched(kind="host", name=host) for value in arguments.values() for host in _hosts(value)]
    for name, value in arguments.items():
        if name in file_arguments and isinstance(value, str) and "://" not in value:
            found.append(Touched(kind="file", name=value))
        if name == "tables" and isinstance(value, list):
            found += [Touched(kind="table", name=table) for table in value if isinstance(table, str)]
    return tuple(dict.fromkeys(found))[:MOST]


def _hosts(value: JsonValue) -> Iterator[str]:
    match value:
        case str() if value.startswith(("http://", "https://")):
            try:
                host = urlsplit(value).netloc.rpartition("@")[2]
            except ValueError:
                return  # the check of the call says that it is no URL
            if host:
                yield host
        case list():
            for one in value:
                yield from _hosts(one)
