"""The registry of services: names, NATS permissions, consumers, secrets and ports.

The supervisor, the NATS users, the secrets of containers and pods, chaos and bench read it. tests/unit/test_services.py
checks the hand-written files (docker-compose.yml, deploy/) against it. Only the standard library is
imported: Dockerfile and deploy/kubernetes/make-secrets read this file before anything is installed.
"""

from typing import NamedTuple

HEALTH_PORT, PAGE_PORT = 8080, 8001  # in a container: health and metrics; the gateway serves them on the page's port
OPERATOR = "parley"  # the NATS user that may do everything and provisions NATS
OPERATOR_SECRETS = ("database_url",)  # besides nats_url
PING = "ping"  # ping.<worker>: answered while its event loop runs
STOPS, MESSAGES = "feed.*.*.session.stopped", "feed.*.*.message.received"  # what ends a worker's work before it is done
JUDGEMENTS = "feed.*.*.answer.judged"  # by which a library gets entries
MODEL_KEYS = ("openai_api_key", "internlm_api_key")


class Consumer(NamedTuple):
    """A durable consumer of a JetStream stream."""

    stream: str
    name: str
    filter_subject: str


class ServiceSpec(NamedTuple):
    """One service. Its name is that of its user on NATS, its container, and its module `services.<name>.app`.

    NATS does not check an event's contents: a reader must only trust what its author can know.
    """

    name: str
    uid: int  # of the container's user, and of the group that may read its secrets
    requests: tuple[str, ...] = ()  # subjects that it sends requests to
    answers: tuple[str, ...] = ()  # subjects on which it answers
    consumers: tuple[Consumer, ...] = ()
    publishes: tuple[str, ...] = ()  # further subjects, also of JetStream's API
    subscribes: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()  # settings that may contain a secret, besides nats_url
    port: int = HEALTH_PORT

    @property
    def module(self) -> str:
        return f"services.{self.name}.app"


_LOAD = ("plan_store.session.load", "plan_store.session.part")


def _worker(  # noqa: PLR0913  how workers differ
    name: str,
    uid: int,
    *,
    requests: tuple[str, ...] = (),
    answers: tuple[str, ...] = (),
    publishes: tuple[str, ...] = (),
    subscribes: tuple[str, ...] = (STOPS,),
    secrets: tuple[str, ...] = (),
) -> ServiceSpec:
    """A service of `shared.worker`. Subjects of the log name it when its work is due."""
    return ServiceSpec(
        name,
        uid,
        requests=(*requests, *_LOAD),
        answers=("draft.get.*", f"{PING}.{name}", *answers),
        consumers=(Consumer("SESSIONS", name, f"session.*.{name}.>"),),
        publishes=(*publishes, "delta.*.*"),
        subscribes=subscribes,
        secrets=(*secrets, *MODEL_KEYS),
    )


_WORKERS = (
    _worker(
        "planner",
        10003,
        requests=("tools.list", "tools.check", "flows.list", "plan_store.memory.recall", "plan_store.library.similar"),
        subscribes=(STOPS, MESSAGES, JUDGEMENTS),
    ),
    _worker(
        "executor",
        10006,
        requests=("plan_store.library.similar",),
        answers=("tools.list", "tools.preview", "tools.previews", "tools.check", "tools.poll", "flows.list"),
        publishes=(
            "$O.ARTEFACTS.>",
            "$JS.API.STREAM.INFO.OBJ_ARTEFACTS",
            "$JS.API.STREAM.MSG.GET.OBJ_ARTEFACTS",
        ),
        secrets=("database_url", "retail_database_url", "parley_sql_database_url"),
    ),
    _worker("verifier", 10005),
    _worker("generator", 10004, requests=("tools.list",), subscribes=(STOPS, MESSAGES)),
)
WORKERS = tuple(spec.name for spec in _WORKERS)  # as `parley.events.values.Service` names them

_SPECS = (
    *_WORKERS,
    ServiceSpec(
        "plan_store",
        10002,
        requests=("tools.list", "tools.poll"),
        answers=("plan_store.>",),
        consumers=(
            Consumer("SESSIONS", "plan_store", "session.>"),
            Consumer("DEAD_LETTERS", "dead_letters", "$JS.EVENT.ADVISORY.CONSUMER.>"),
            Consumer("TIMERS", "timers", "timerfired.>"),
        ),
        publishes=(
            *("timer.>", "$JS.API.STREAM.PURGE.TIMERS", "$JS.API.STREAM.MSG.GET.TIMERS"),
            *("library.*", "$JS.API.STREAM.MSG.GET.LIBRARY"),
            *(f"$JS.API.CONSUMER.INFO.SESSIONS.{worker}" for worker in WORKERS),
            *("$JS.API.DIRECT.GET.SESSIONS", "$JS.API.STREAM.PURGE.SESSIONS"),
            *("$JS.API.STREAM.INFO.OBJ_ARTEFACTS", "$JS.API.STREAM.PURGE.OBJ_ARTEFACTS"),
        ),
        secrets=("database_url",),
    ),
    ServiceSpec(
        "gateway",
        10007,
        requests=(
            *("tools.list", "tools.preview", "tools.previews", "flows.list", "draft.get.*"),
            *(f"{PING}.{worker}" for worker in WORKERS),
            *("plan_store.session.list", "plan_store.session.purge"),
            *(f"plan_store.plan.{verb}" for verb in ("list", "get", "versions", "tasks", "diff")),
            *("plan_store.journal.read", "plan_store.code.versions", "plan_store.usage.totals"),
            *("plan_store.memory.list", "plan_store.memory.forget"),
            *("plan_store.library.list", "plan_store.proposals.list"),
            *(f"plan_store.template.{verb}" for verb in ("save", "schedule", "get", "list", "delete")),
            *("plan_store.dead.list", "plan_store.dead.dismiss", "plan_store.service.health", *_LOAD),
        ),
        publishes=(
            *("ticket.*", "logout.*", "$JS.API.STREAM.INFO.LOGOUTS"),
            # a fork's files are stored under its own name
            *("$O.ARTEFACTS.>", "$JS.API.STREAM.INFO.OBJ_ARTEFACTS", "$JS.API.STREAM.MSG.GET.OBJ_ARTEFACTS"),
        ),
        subscribes=("feed.>", "delta.>", "logout.*"),
        secrets=("parley_token", "parley_secret", "parley_jwt_secret", "parley_api_keys", "parley_metrics_token"),
        port=PAGE_PORT,
    ),
)
SERVICES = {spec.name: spec for spec in _SPECS}
CONSUMERS = tuple(consumer for spec in _SPECS for consumer in spec.consumers)
