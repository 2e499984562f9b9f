"""The servers, files and tables that a step's call names. Pure.

Only literal arguments count: values from other steps are unknown before the plan runs.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from pydantic import JsonValue

from parley.events.values import Step
from parley.protocol.screen import AffectedResource
from shared.domain.references import references
from shared.plan_checks.calls import polled_call

FILE_ARGUMENTS = ("file", "file_name", "filename", "path")
MAX_RESOURCES = 20  # that are named


def affected_resources(step: Step) -> tuple[AffectedResource, ...]:
    """The servers of URLs, the files and the tables in the step's arguments, each once.

    For a polling step, those of the call that it repeats.
    """
    step = polled_call(step) or step
    arguments = {name: value for name, value in (step.arguments or {}).items() if not references(value)}
    file_arguments = (*FILE_ARGUMENTS, *(("name",) if (step.tool or "").endswith("_file") else ()))
    resources = [AffectedResource(kind="host", name=host) for value in arguments.values() for host in _hosts(value)]
    for name, value in arguments.items():
        if name in file_arguments and isinstance(value, str) and "://" not in value:
            resources.append(AffectedResource(kind="file", name=value))
        if name == "tables" and isinstance(value, list):
            resources += [AffectedResource(kind="table", name=table) for table in value if isinstance(table, str)]
    return tuple(dict.fromkeys(resources))[:MAX_RESOURCES]


def _hosts(value: JsonValue) -> Iterator[str]:
    match value:
        case str() if value.startswith(("http://", "https://")):
            try:
                host = urlsplit(value).netloc.rpartition("@")[2]
            except ValueError:
                return  # the check of the call reports the invalid URL
            if host:
                yield host
        case list():
            for item in value:
                yield from _hosts(item)
