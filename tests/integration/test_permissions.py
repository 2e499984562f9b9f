"""The permissions of each service's NATS user, on a real server: what it refuses and what it allows."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any

import nats as client_of
import pytest
from nats.aio.client import Client

from cli.operate.nats_server import find_binary
from parley.events import dump_event, facts, types_made_by
from parley.events.values import Step
from scripts.gen_nats import variable
from shared.bus import Bus
from shared.bus.connection import address
from shared.bus.topology import SESSIONS, consumers, streams
from shared.bus.users import USERS, inbox, permissions
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import decide, due
from shared.log import MESSAGE_ID, SessionAtPosition, StoredMessage, accept, guard_headers, subject_of
from shared.services import JUDGEMENTS, MESSAGES, OPERATOR, SERVICES, STOPS, WORKERS
from shared.settings import Settings
from tests.support.nats import NatsServer
from tests.support.timeouts import WAIT_TIMEOUT

ROOT = Path(__file__).parents[2]
SESSION = "s1"
EVENTS = sorted({kind for service in SERVICES for kind in types_made_by(service)} | {"session.shared"})
API = "$JS.API"


class NatsUserConnection:
    """A connection as one NATS user; it records the subjects that the server refuses."""

    def __init__(self, client: Client, refused: list[str]) -> None:
        self.client = client
        self._refused = refused

    async def refused(self) -> list[str]:
        """The subjects that the server refused since the last call, in lower case.

        It awaits the reply to a request, because the server answers in order. A flush does not suffice: its ping
        overtakes messages published before it.
        """
        await self.client.request(f"{API}.STREAM.MSG.GET.{SESSIONS}", b'{"seq": 1}', timeout=WAIT_TIMEOUT)
        subjects = [text.split('"')[1] for text in self._refused]
        self._refused.clear()
        return subjects

    async def refused_publishes(self, *subjects: str, body: bytes = b"{}", reply: str = "") -> list[str]:
        for subject in subjects:
            await self.client.publish(subject, body, reply=reply)
        return await self.refused()

    async def refused_subscribes(self, *subjects: str) -> list[str]:
        for subject in subjects:
            await self.client.subscribe(subject)
        return await self.refused()


@asynccontextmanager
async def connected_as(nats: NatsServer, user: str) -> AsyncIterator[NatsUserConnection]:
    refused: list[str] = []

    async def on_error(error: Exception) -> None:
        refused.append(str(error))

    client = await client_of.connect(**address(Settings(nats_url=nats.url_of(user))).options, error_cb=on_error)
    try:
        yield NatsUserConnection(client, refused)
    finally:
        await client.close()


async def state(bus: Bus) -> dict[str, Any]:
    """All state of the server that a user could change."""
    server_state: dict[str, Any] = {}
    for config in streams(Settings()):
        answer = await bus.request(f"{API}.STREAM.INFO.{config['name']}", b"")
        server_state[config["name"]] = {key: json.loads(answer)[key] for key in ("config", "state")}
    for stream, config in consumers(Settings()):
        answer = json.loads(await bus.request(f"{API}.CONSUMER.INFO.{stream}.{config['name']}", b""))
        fields = ("config", "num_ack_pending", "num_pending", "num_redelivered")
        server_state[f"{stream}.{config['name']}"] = {key: answer[key] for key in fields} | {
            "floor": answer["ack_floor"]["stream_seq"]
        }
    names = json.loads(await bus.request(f"{API}.STREAM.NAMES", b""))["streams"]
    return server_state | {"streams": sorted(names)}


def events_of_others(user: str) -> list[str]:
    return [f"session.{SESSION}.nobody.{kind}" for kind in EVENTS if kind not in types_made_by(user)]


def work_of_others(user: str) -> list[str]:
    """Subjects of other services' deliveries, acknowledgements and replies."""
    durables = [(stream, config["name"]) for stream, config in consumers(Settings())]
    durables_of_user = {(stream, name) for stream, name, _ in SERVICES[user].consumers}
    durables_of_others = [durable for durable in durables if durable not in durables_of_user]
    subjects = [f"{API}.CONSUMER.MSG.NEXT.{stream}.{name}" for stream, name in durables_of_others]
    subjects += [f"$JS.ACK.{stream}.{name}.1.1.1.1.0" for stream, name in durables_of_others]
    subjects += [f"{inbox(other)}.a.b" for other in SERVICES] + ["_INBOX.a.b", f"{inbox(OPERATOR)}.a.b"]
    return [*subjects, f"feed.{SESSION}.nobody.session.stopped", f"session.{SESSION}", f"session.{SESSION}.x"]


def operator_subjects(user: str) -> list[str]:
    """Subjects that only the operator may use."""
    subjects = []
    for config in streams(Settings()):
        name = config["name"]
        subjects += [f"{API}.STREAM.{verb}.{name}" for verb in ("CREATE", "UPDATE", "DELETE", "MSG.DELETE", "SNAPSHOT")]
        subjects += [f"{API}.CONSUMER.CREATE.{name}", f"{API}.CONSUMER.CREATE.{name}.mine.{config['subjects'][0]}"]
        subjects += [f"{API}.CONSUMER.DURABLE.CREATE.{name}.mine", f"{API}.CONSUMER.DELETE.{name}.planner"]
        subjects += [f"{API}.CONSUMER.PAUSE.{name}.planner", f"{API}.STREAM.RESTORE.{name}"]
        subjects += [f"{API}.STREAM.LEADER.STEPDOWN.{name}", f"{API}.STREAM.PEER.REMOVE.{name}"]
        if user != "plan_store":
            subjects += [f"{API}.STREAM.PURGE.{name}", f"{API}.DIRECT.GET.{name}"]
            subjects += [f"{API}.DIRECT.GET.{name}.session.{SESSION}.user.plan.drafted"]
    return [
        *subjects,
        "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.SESSIONS.executor",
        f"{API}.STREAM.LIST",
        f"{API}.ACCOUNT.PURGE.$G",
        "$SYS.REQ.SERVER.PING",
        "timerfired.x.y",
    ]


def requests_of_others(user: str) -> list[str]:
    """Subjects, besides events and acknowledgements, that some other service may publish to, and this one may not."""
    allowed = set(permissions(user)["publish"])
    others_only = {subject for other in SERVICES for subject in permissions(other)["publish"]} - allowed
    requests = [subject for subject in sorted(others_only) if not subject.startswith(("session.", "$JS."))]
    examples = ["plan_store.plan.delete", "plan_store.anything", "tools.call", "timer.x.approval", "ticket.x"]
    requests += [subject for subject in examples if subject not in allowed]
    return [s.replace("*", "x").replace(">", "x.y") for s in requests if not (s == "ticket.x" and user == "gateway")]


def forbidden_subscriptions(user: str) -> list[str]:
    """Subjects that this user may not subscribe to."""
    allowed = set(permissions(user)["subscribe"])
    others_only = {subject for other in SERVICES for subject in permissions(other)["subscribe"]} - allowed
    wildcards = [
        "session.>",
        f"session.{SESSION}.>",
        ">",
        "*.>",
        "$JS.>",
        "$JS.API.>",
        "$JS.ACK.>",
        "_INBOX.>",
        "timer.>",
    ]
    wildcards += ["ticket.>", "$O.>"]
    return sorted(others_only - ({STOPS, MESSAGES, JUDGEMENTS} if user == "gateway" else set())) + wildcards


@pytest.mark.parametrize("user", SERVICES)
async def test_forbidden_subjects_are_refused_and_nothing_changes(
    nats: NatsServer, settings: Settings, bus: Bus, user: str
) -> None:
    await begin_session(bus)
    before = await state(bus)
    attempts = [*events_of_others(user), *work_of_others(user), *operator_subjects(user), *requests_of_others(user)]
    attempts = [subject.replace("timer.x", "timerfired.x") if user == "plan_store" else subject for subject in attempts]
    assert len(set(attempts)) > 60
    async with connected_as(nats, user) as connected:
        assert await connected.refused_publishes(*attempts) == [subject.lower() for subject in attempts]
        patterns = forbidden_subscriptions(user)
        assert await connected.refused_subscribes(*patterns) == [subject.lower() for subject in patterns]
        allowed = [f"{inbox(user)}.a", *permissions(user)["subscribe"]]
        assert await connected.refused_subscribes(*allowed) == []
    assert await state(bus) == before


# --- what the server itself publishes in reply to a request


async def begin_session(bus: Bus) -> tuple[SessionAtPosition, bytes]:
    """Store a session whose plan is in review; return it, and the body of an approval event that is not stored."""
    loaded = SessionAtPosition(Session(SESSION), 0)
    at = datetime.now(UTC)
    draft = c.DraftPlan(goal="g", steps=(Step(text="one"),))
    for command in (c.Say(text="Help"), draft):
        by = (
            CommandMeta("planner", at, work=loaded.session.work)
            if command is draft
            else CommandMeta("user:ann", at, "m1")
        )
        event = decide(loaded.session, command, by)
        after = evolve(loaded.session, event)
        loaded = SessionAtPosition(after, await bus.log.append(event, after=loaded.position, due=due(after)))
    assert loaded.session.plan
    yes = c.Approve(version=loaded.session.plan.version, hash=loaded.session.plan.hash)
    return loaded, dump_event(decide(loaded.session, yes, CommandMeta("user:ann", at, "a1")))


async def accepted(bus: Bus, loaded: SessionAtPosition) -> list[str]:
    """The types of the events after `loaded` that readers of the log accept."""
    types: list[str] = []
    for raw in await bus.log.read(SESSION, after=loaded.position, leader=True):
        loaded, event, _ = accept(loaded, raw)
        types += [event.type] if event else []
    return types


async def store_forged_approval(bus: Bus, user: str, loaded: SessionAtPosition, body: bytes) -> int:
    """Store a forged approval where this user may write, with guard headers that are valid for `SESSION`."""
    where = f"session.elsewhere.{user if user in WORKERS else 'user'}.{types_made_by(user)[0]}"
    headers = guard_headers(SESSION, loaded.position, "")
    del headers[MESSAGE_ID]  # otherwise the server would drop the copy as a duplicate
    reply = await bus.client.request(where, body, headers=headers, timeout=WAIT_TIMEOUT)
    return int(json.loads(reply.data)["seq"])


def approval_subject(body: bytes, loaded: SessionAtPosition) -> str:
    event = facts.PlanApproved.model_validate_json(body)
    return subject_of(event, due(evolve(loaded.session, event)))


async def test_an_event_can_be_forged_with_a_direct_get(nats: NatsServer, settings: Settings, bus: Bus) -> None:
    """Only plan_store and the operator may send a direct get: the reply is stored as if its requester had sent it."""
    loaded, body = await begin_session(bus)
    position = await store_forged_approval(bus, "planner", loaded, body)
    async with connected_as(nats, OPERATOR) as connected:
        request = json.dumps({"seq": position}).encode()
        reply = approval_subject(body, loaded)
        assert await connected.refused_publishes(f"{API}.DIRECT.GET.SESSIONS", body=request, reply=reply) == []
        async with asyncio.timeout(WAIT_TIMEOUT):
            while await accepted(bus, loaded) != ["plan.approved"]:
                pass  # each read awaits a request


@pytest.mark.parametrize("user", [service for service in SERVICES if service != "plan_store"])
async def test_no_reply_of_the_server_can_forge_an_event(
    nats: NatsServer, settings: Settings, bus: Bus, user: str
) -> None:
    """Send each request that the service may make, with a reply subject that it may not publish to."""
    loaded, body = await begin_session(bus)
    position = await store_forged_approval(bus, user, loaded, body)
    allowed = permissions(user)["publish"]
    requests = [subject for subject in allowed if subject.startswith(f"{API}.")]
    requests += [subject for subject in allowed if "*" not in subject and not subject.startswith("$")]
    request = json.dumps({"seq": position}).encode()
    replies = [approval_subject(body, loaded), f"{API}.STREAM.PURGE.{SESSIONS}", f"{API}.STREAM.DELETE.{SESSIONS}"]
    async with connected_as(nats, user) as connected:
        for reply in replies:
            assert await connected.refused_publishes(*requests, body=request, reply=reply) == []
            assert (
                await connected.refused_publishes(*requests, body=b"1", reply=reply) == []
            )  # as a request for the next message: how many to deliver
        acks = [f"$JS.ACK.{SESSIONS}.{worker}.1.1.1.1.0" for worker in WORKERS]
        for ack in acks:  # the only reply subjects that the server checks
            assert await connected.refused_publishes(*requests, body=request, reply=ack) == [ack.lower()] * len(
                requests
            )
        allowed_subject = f"session.other.nobody.{types_made_by(user)[0]}"
        assert await connected.refused_publishes(allowed_subject, body=body, reply=approval_subject(body, loaded)) == []
        answer = await connected.client.request(f"{API}.STREAM.MSG.GET.{SESSIONS}", request, timeout=WAIT_TIMEOUT)
        assert json.loads(answer.data)["message"], (
            "the service answered this request last, so it has handled all others"
        )
    assert await accepted(bus, loaded) == []
    assert (await state(bus))[SESSIONS]["state"]["first_seq"] == 1, "nothing was purged"


# --- what services do with their permissions


async def test_artefacts_are_stored_read_and_deleted_by_the_permitted_services(
    nats: NatsServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    violations: list[str] = []
    monkeypatch.setattr(
        "shared.bus.connection.exit_forbidden", lambda name, error: violations.append(f"{name}: {error}")
    )
    buses = {name: Bus(settings.model_copy(update={"nats_url": nats.url_of(name)}), name) for name in SERVICES}
    await asyncio.gather(*(client.connect() for client in buses.values()))
    large = b"much " * 100_000
    await buses["executor"].keep("s/1/1.1", b"another one, before")
    await buses["executor"].keep("s/1/1.1", large)
    assert await buses["gateway"].fetch("s/1/1.1") == large
    assert await buses["gateway"].fetch("s/1/1.2") is None
    await buses["gateway"].keep("s2/files/0", large)  # of a fork
    assert await buses["executor"].fetch("s2/files/0") == large
    assert await buses["gateway"].redeem("ticket-1")
    assert not await buses["gateway"].redeem("ticket-1")
    await buses["plan_store"].drop("s/")
    assert await buses["gateway"].fetch("s/1/1.1") is None
    await asyncio.gather(*(client.stop() for client in buses.values()))
    assert violations == []


async def test_an_answer_is_only_sent_to_an_inbox(bus: Bus) -> None:
    handled: list[bytes] = []

    async def respond(_: str, data: bytes) -> bytes:
        handled.append(data)
        return data

    await bus.answer("echo", respond)
    for reply in ("", "session.s1.nobody.approval.given", f"{API}.STREAM.PURGE.{SESSIONS}"):
        await bus.client.publish("echo", b"not this", reply=reply)
    assert await bus.request("echo", b"this") == b"this"
    assert handled == [b"this"]
    assert (await state(bus))[SESSIONS]["state"]["messages"] == 0


async def test_an_unguarded_event_is_stored_and_accepted_by_no_reader(
    nats: NatsServer, settings: Settings, bus: Bus
) -> None:
    """Permissions cannot require headers; the readers of the log do."""
    loaded, _ = await begin_session(bus)
    body = b'{"type": "plan.drafted"}'
    async with connected_as(nats, "planner") as connected:
        await connected.client.request(f"session.{SESSION}.user.plan.drafted", body, timeout=WAIT_TIMEOUT)
    assert await accepted(bus, loaded) == []
    [stored] = await bus.log.read(SESSION, after=loaded.position)
    assert isinstance(stored, StoredMessage)
    assert stored.data == body


# --- the configuration for servers that Parley does not start


def check_config(**passwords: str) -> subprocess.CompletedProcess[str]:
    """Run nats-server so that it only validates `deploy/nats.conf`."""
    command = (str(find_binary()[0]), "-t", "-c", str(ROOT / "deploy" / "nats.conf"))
    return subprocess.run(command, env=passwords, capture_output=True, text=True, check=False)


def test_the_server_accepts_the_containers_configuration_with_all_passwords() -> None:
    passwords = {variable(user): f"p{token_hex(16)}" for user in USERS}
    output = check_config(**passwords)
    assert "is valid" in output.stdout + output.stderr
    del passwords["NATS_PASSWORD_GATEWAY"]
    output = check_config(**passwords)
    assert output.returncode != 0
    assert "NATS_PASSWORD_GATEWAY" in output.stdout + output.stderr
