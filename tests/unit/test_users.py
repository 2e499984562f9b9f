"""The NATS permissions of each service: exactly what its code needs."""

import ast
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from parley.events import facts, types_made_by
from parley.events.envelope import Event
from parley.protocol.flows import FLOWS_LIST
from parley.protocol.tools import TOOLS_CHECK, TOOLS_LIST, TOOLS_POLL, TOOLS_PREVIEW, TOOLS_PREVIEWS
from scripts.gen_nats import users_conf
from scripts.reachability import explore
from shared import store_api
from shared.bus.connection import address
from shared.bus.topology import consumers, streams
from shared.bus.users import USERS, permissions, server_configuration
from shared.domain.rules.user_commands import UserCommand
from shared.domain.rules.worker_commands import WorkerCommand
from shared.services import OPERATOR, PING, SERVICES, WORKERS
from shared.settings import Settings
from shared.store_api import PREFIX, SESSION_LOAD, SESSION_PART
from shared.store_api.base import Verb

ROOT = Path(__file__).parents[2]
COMMANDS = {command.__name__ for union in (UserCommand, WorkerCommand) for command in get_args(union)}
ABANDONED = {"ReportUncertain", "LoseResult"}  # the commands of `shared.domain.turn.outcomes.close_abandoned`
# Commands that others have too lead to these only where a message is answered.
OF_REPLIES = {
    "remark.answered": ("planner", "generator", "plan_store"),
    "turn.planned": ("planner", "gateway"),
    "plan.drafted": ("planner", "gateway"),
    "code.drafted": ("generator", "gateway"),
}
# No service appends these: an operator can, with `parley publish`.
OPERATOR_ONLY = {"session.shared"}


@cache
def sources(service: str) -> tuple[ast.Module, ...]:
    folders = [ROOT / "services" / service, *([ROOT / "shared" / "worker"] if service in WORKERS else [])]
    return tuple(ast.parse(path.read_text()) for folder in folders for path in sorted(folder.rglob("*.py")))


@cache
def made_by() -> dict[str, set[str]]:
    """The commands that can lead to each type of event."""
    return explore().makers


def commands_of(service: str) -> set[str]:
    """The commands that this service's code imports, or names as `c.…`."""
    nodes = [node for tree in sources(service) for node in ast.walk(tree)]
    imported = {
        "Fork" if (node.module, alias.name) == ("shared.log", "fork") else alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module in ("shared.domain.kernel.commands", "shared.log")
        for alias in node.names
    }
    qualified = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("c", "commands")
    }
    mentioned = {node.id for node in nodes if isinstance(node, ast.Name)}
    named = qualified | ({"Ask", "AnswerRemark", "AcceptOffer"} if "NoDraft" in qualified else set())
    ends = ABANDONED if "close_abandoned" in mentioned and service in ("executor", "plan_store") else set()
    return ((imported | named) & COMMANDS) | ends


def mentioned_names(service: str) -> set[str]:
    """The names and attributes that this service's code mentions."""
    nodes = [node for tree in sources(service) for node in ast.walk(tree)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    return names | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_may_append_exactly_the_events_of_its_commands(service: str) -> None:
    """`explore` tries every command in every kind of session state."""
    commands = commands_of(service)
    elsewhere = {kind for kind, services in OF_REPLIES.items() if service not in services}
    possible = {kind for kind, makers in made_by().items() if makers & commands} - elsewhere
    appends = types_made_by(service)
    assert set(appends) == possible
    assert len(appends) == len(possible)


def test_every_event_has_a_service_that_makes_it() -> None:
    kinds = {
        str(model.model_fields["type"].default)
        for model in vars(facts).values()
        if isinstance(model, type) and issubclass(model, Event) and model is not Event
    }
    assert {kind for service in SERVICES for kind in types_made_by(service)} == kinds - OPERATOR_ONLY


@pytest.mark.parametrize(
    ("kind", "owners"),
    [
        ("approval.given", {"gateway"}),
        ("plan.approved", {"gateway"}),
        ("plan.drafted", {"planner", "gateway"}),  # a person takes an offer, here and below
        ("code.drafted", {"generator", "gateway"}),
        ("answer.given", {"generator"}),
        ("actions.started", {"executor"}),
        ("actions.finished", {"executor"}),
        ("actions.waiting", {"executor"}),
        ("action.waited", {"plan_store"}),
        ("result.stored", {"executor"}),
        ("result.lost", {"executor", "plan_store"}),
        ("action.uncertain", {"executor", "plan_store"}),
        ("code.verified", {"verifier"}),
        ("turn.verified", {"verifier"}),
        ("approval.expired", {"plan_store"}),
        ("turn.planned", {"planner", "gateway"}),
        ("turn.requested", {"gateway"}),  # a person takes over, or runs the code
        ("turn.changed", {"executor", "gateway"}),  # after a condition, or by a person
    ],
)
def test_only_these_services_make_sensitive_events(kind: str, owners: set[str]) -> None:
    assert {service for service in SERVICES if kind in types_made_by(service)} == owners


@pytest.mark.parametrize("service", SERVICES)
def test_permitted_plan_store_requests_are_those_in_the_code(service: str) -> None:
    known = {verb.subject: name for name, verb in vars(store_api).items() if isinstance(verb, Verb)}
    permitted = {subject for subject in permissions(service)["publish"] if subject.startswith(PREFIX)}
    assert permitted <= set(known), "plan_store answers each of these requests"
    if service == "plan_store":
        assert not permitted
        return
    texts = {node.value for tree in sources(service) for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    names = mentioned_names(service)
    expected = {subject for subject, name in known.items() if name in names or subject.removeprefix(PREFIX) in texts}
    loads = {SESSION_LOAD.subject, SESSION_PART.subject} if {"PlanStoreClient", "NatsStore"} & names else set()
    assert permitted == expected | loads


def test_every_other_request_has_a_service_that_answers_it() -> None:
    answered = {subject for spec in SERVICES.values() for subject in spec.answers}
    requested = {subject for spec in SERVICES.values() for subject in spec.requests if not subject.startswith(PREFIX)}
    assert (
        requested
        == answered - {"plan_store.>"}
        == {
            *(TOOLS_LIST, TOOLS_PREVIEW, TOOLS_PREVIEWS, TOOLS_CHECK, TOOLS_POLL, FLOWS_LIST, "draft.get.*"),
            *(f"{PING}.{worker}" for worker in WORKERS),
        }
    )
    self_requests = {name for name, spec in SERVICES.items() if set(spec.requests) & set(spec.answers)}
    assert not self_requests, "a service that answers itself could publish to any reply subject"


def test_consumers_have_unique_names_and_existing_streams() -> None:
    names = [(stream, config["name"]) for stream, config in consumers(Settings())]
    assert len(set(names)) == len(names)
    assert {stream for stream, _ in names} <= {config["name"] for config in streams(Settings())}


@pytest.mark.parametrize("service", SERVICES)
def test_no_service_has_permissions_that_would_grant_everything(service: str) -> None:
    """The creator of a consumer, and the sender of a direct get, choose the target subject: it could be in the log."""
    allowed = permissions(service)
    for subject in allowed["publish"]:
        assert subject not in (">", "*", "session.>", "$JS.>", "$JS.API.>", "$JS.ACK.>"), subject
        for word in ("CONSUMER.CREATE", "CONSUMER.DURABLE", "STREAM.CREATE", "STREAM.UPDATE", "STREAM.DELETE"):
            assert word not in subject
        if service != "plan_store":
            assert not any(word in subject for word in ("DIRECT.GET", "PURGE", "MSG.DELETE", "timer.")), subject
        assert not subject.startswith(("feed.", "timerfired.", "_INBOX"))
    inboxes = [subject for subject in allowed["subscribe"] if subject.startswith("_INBOX")]
    assert inboxes == [f"_INBOX_{service}.>"]
    assert not [subject for subject in allowed["subscribe"] if subject.startswith(("session.", ">", "*", "$JS"))]


def test_the_containers_nats_configuration_is_up_to_date() -> None:
    written = (ROOT / "deploy" / "nats-users.conf").read_text()
    assert written == users_conf(), "run `make docs`"
    assert 'include "nats-users.conf"' in (ROOT / "deploy" / "nats.conf").read_text()


def test_passwords_are_quoted_and_variables_are_not() -> None:
    text = server_configuration({user: f'12k"{user}' for user in USERS} | {OPERATOR: "$SECRET"})
    assert '{ user: planner, password: "12k\\"planner", permissions: {' in text
    assert "{ user: parley, password: $SECRET }" in text


@pytest.mark.parametrize(
    ("url", "servers", "user", "inbox"),
    [
        ("nats://planner:p:w@h:1", ["nats://h:1"], ("planner", "p:w"), "_INBOX_planner"),
        ("nats://gateway:x@a:1, gateway:x@b:2", ["nats://a:1", "b:2"], ("gateway", "x"), "_INBOX_gateway"),
        ("plan_store:x@h", ["h"], ("plan_store", "x"), "_INBOX_plan_store"),
        ("nats://token@h:1", ["nats://token@h:1"], ("", ""), "_INBOX"),
        ("nats://h:1", ["nats://h:1"], ("", ""), "_INBOX"),
        ("nats://somebody:x@h:1", ["nats://h:1"], ("somebody", "x"), "_INBOX"),
    ],
)
def test_the_url_contains_the_user(url: str, servers: list[str], user: tuple[str, str], inbox: str) -> None:
    target = address(Settings(nats_url=url))
    assert (target.servers, (target.user, target.password)) == (servers, user)
    assert target.options["inbox_prefix"] == inbox
