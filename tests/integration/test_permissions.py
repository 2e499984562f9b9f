"""What each service's NATS user is refused, on a real server with the lists as they are; and what it is not."""

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

from cli.nats_server import NatsServer, find_binary
from parley.events import dump_event, facts, types_made_by
from parley.events.values import Step
from scripts.gen_nats import variable
from shared.bus import Bus
from shared.bus.connection import address
from shared.bus.topology import SESSIONS, consumers, streams
from shared.bus.users import USERS, inbox, permissions
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.domain.decide import decide, due
from shared.domain.evolve import evolve
from shared.domain.session import Session
from shared.log import MESSAGE_ID, SessionAtPosition, StoredMessage, accept, guard_headers, subject_of
from shared.services import OPERATOR, SERVICES, WORKERS
from shared.settings import Settings

ROOT = Path(__file__).parents[2]
SESSION = "s1"
EVENTS = sorted({kind for service in SERVICES for kind in types_made_by(service)} | {"session.shared"})
API = "$JS.API"


class Visitor:
    """A connection as one of the users, and what the server refused it."""

    def __init__(self, client: Client, refused: list[str]) -> None:
        self.client = client
        self._refused = refused

    async def refused(self) -> list[str]:
        """The subjects refused since the last look, in small letters; the server answers in order.

        A flush would not do: its ping overtakes what was published before it.
        """
        await self.client.request(f"{API}.STREAM.MSG.GET.{SESSIONS}", b'{"seq": 1}', timeout=20)
        subjects = [text.split('"')[1] for text in self._refused]
        self._refused.clear()
        return subjects

    async def publishes(self, *subjects: str, body: bytes = b"{}", reply: str = "") -> list[str]:
        for subject in subjects:
            await self.client.publish(subject, body, reply=reply)
        return await self.refused()

    async def subscribes(self, *subjects: str) -> list[str]:
        for subject in subjects:
            await self.client.subscribe(subject)
        return await self.refused()


@asynccontextmanager
async def visiting(nats: NatsServer, user: str) -> AsyncIterator[Visitor]:
    refused: list[str] = []

    async def on_error(error: Exception) -> None:
        refused.append(str(error))

    client = await client_of.connect(**address(Settings(nats_url=nats.url_of(user))).options, error_cb=on_error)
    try:
        yield Visitor(client, refused)
    finally:
        await client.close()


async def state(bus: Bus) -> dict[str, Any]:
    """Everything that somebody could have changed."""
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
    """Others' deliveries, acknowledgements and answers."""
    durables = [(stream, config["name"]) for stream, config in consumers(Settings())]
    own = {(stream, name) for stream, name, _ in SERVICES[user].consumers}
    theirs = [durable for durable in durables if durable not in own]
    subjects = [f"{API}.CONSUMER.MSG.NEXT.{stream}.{name}" for stream, name in theirs]
    subjects += [f"$JS.ACK.{stream}.{name}.1.1.1.1.0" for stream, name in theirs]
    subjects += [f"{inbox(other)}.a.b" for other in SERVICES] + ["_INBOX.a.b", f"{inbox(OPERATOR)}.a.b"]
    return [*subjects, f"feed.{SESSION}.nobody.session.stopped", f"session.{SESSION}", f"session.{SESSION}.x"]


def power(user: str) -> list[str]:
    """What only the operator may do."""
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
    """Whatever some service may publish besides events and acknowledgements, and this one may not."""
    mine = set(permissions(user)["publish"])
    every = {subject for other in SERVICES for subject in permissions(other)["publish"]} - mine
    plain = [subject for subject in sorted(every) if not subject.startswith(("session.", "$JS."))]
    never = ["plan_store.plan.delete", "plan_store.anything", "tools.call", "timer.x.approval", "ticket.x"]
    asked = [*plain, *(subject for subject in never if subject not in mine)]
    return [s.replace("*", "x").replace(">", "x.y") for s in asked if not (s == "ticket.x" and user == "gateway")]


def listening(user: str) -> list[str]:
    """What is meant for others to hear."""
    mine = set(permissions(user)["subscribe"])
    every = {subject for other in SERVICES for subject in permissions(other)["subscribe"]} - mine
    raw = ["session.>", f"session.{SESSION}.>", ">", "*.>", "$JS.>", "$JS.API.>", "$JS.ACK.>", "_INBOX.>", "timer.>"]
    raw += ["ticket.>", "$O.>"]
    return sorted(every - ({"feed.*.*.session.stopped"} if user == "gateway" else set())) + raw


@pytest.mark.parametrize("user", SERVICES)
async def test_forbidden_subjects_are_refused_and_nothing_changes(
    nats: NatsServer, settings: Settings, bus: Bus, user: str
) -> None:
    await began(bus)
    before = await state(bus)
    attempts = [*events_of_others(user), *work_of_others(user), *power(user), *requests_of_others(user)]
    attempts = [subject.replace("timer.x", "timerfired.x") if user == "plan_store" else subject for subject in attempts]
    assert len(set(attempts)) > 60
    async with visiting(nats, user) as visitor:
        assert await visitor.publishes(*attempts) == [subject.lower() for subject in attempts]
        patterns = listening(user)
        assert await visitor.subscribes(*patterns) == [subject.lower() for subject in patterns]
        allowed = [f"{inbox(user)}.a", *permissions(user)["subscribe"]]
        assert await visitor.subscribes(*allowed) == []
    assert await state(bus) == before


# --- what the server itself publishes for whoever asks


async def began(bus: Bus) -> tuple[SessionAtPosition, bytes]:
    """A session whose plan is in review, stored as it should be; and the body of an approval, as an event."""
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
    """The types of the events that the log's readers take, after these."""
    types: list[str] = []
    for raw in await bus.log.read(SESSION, after=loaded.position, leader=True):
        loaded, event, _ = accept(loaded, raw)
        types += [event.type] if event else []
    return types


async def plant(bus: Bus, user: str, loaded: SessionAtPosition, body: bytes) -> int:
    """A forged approval where this user may store something, made so that its guard fits the other session."""
    where = f"session.elsewhere.{user if user in WORKERS else 'user'}.{types_made_by(user)[0]}"
    headers = guard_headers(SESSION, loaded.position, "")
    del headers[MESSAGE_ID]  # or the server would take its copy for the same again
    reply = await bus.client.request(where, body, headers=headers, timeout=20)
    return int(json.loads(reply.data)["seq"])


def target(body: bytes, loaded: SessionAtPosition) -> str:
    event = facts.PlanApproved.model_validate_json(body)
    return subject_of(event, due(evolve(loaded.session, event)))


async def test_a_direct_get_could_forge_an_event(nats: NatsServer, settings: Settings, bus: Bus) -> None:
    """Why nobody but plan_store and the operator has it: the answer is stored as if its asker had said it."""
    loaded, body = await began(bus)
    position = await plant(bus, "planner", loaded, body)
    async with visiting(nats, OPERATOR) as visitor:
        request = json.dumps({"seq": position}).encode()
        assert await visitor.publishes(f"{API}.DIRECT.GET.SESSIONS", body=request, reply=target(body, loaded)) == []
        async with asyncio.timeout(20):
            while await accepted(bus, loaded) != ["plan.approved"]:
                pass  # each look is a request of its own


@pytest.mark.parametrize("user", [service for service in SERVICES if service != "plan_store"])
async def test_no_answer_of_the_server_can_forge_an_event(
    nats: NatsServer, settings: Settings, bus: Bus, user: str
) -> None:
    """Each request that a service may make, with its answer ordered to where the service itself may not publish."""
    loaded, body = await began(bus)
    position = await plant(bus, user, loaded, body)
    asked = [subject for subject in permissions(user)["publish"] if subject.startswith(f"{API}.")]
    asked += [subject for subject in permissions(user)["publish"] if "*" not in subject and not subject.startswith("$")]
    request = json.dumps({"seq": position}).encode()
    replies = [target(body, loaded), f"{API}.STREAM.PURGE.{SESSIONS}", f"{API}.STREAM.DELETE.{SESSIONS}"]
    async with visiting(nats, user) as visitor:
        for reply in replies:
            assert await visitor.publishes(*asked, body=request, reply=reply) == []
            assert await visitor.publishes(*asked, body=b"1", reply=reply) == []  # so many deliveries
        acks = [f"$JS.ACK.{SESSIONS}.{worker}.1.1.1.1.0" for worker in WORKERS]
        for ack in acks:  # this much of a reply subject the server does check
            assert await visitor.publishes(*asked, body=request, reply=ack) == [ack.lower()] * len(asked)
        own = f"session.other.nobody.{types_made_by(user)[0]}"
        assert await visitor.publishes(own, body=body, reply=target(body, loaded)) == []
        answer = await visitor.client.request(f"{API}.STREAM.MSG.GET.{SESSIONS}", request, timeout=20)
        assert json.loads(answer.data)["message"], "answered after all the others, so they have been"
    assert await accepted(bus, loaded) == []
    assert (await state(bus))[SESSIONS]["state"]["first_seq"] == 1, "nothing was purged"


# --- what a service does


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
    asked: list[bytes] = []

    async def respond(_: str, data: bytes) -> bytes:
        asked.append(data)
        return data

    await bus.answer("echo", respond)
    for reply in ("", "session.s1.nobody.approval.given", f"{API}.STREAM.PURGE.{SESSIONS}"):
        await bus.client.publish("echo", b"not this", reply=reply)
    assert await bus.request("echo", b"this") == b"this"
    assert asked == [b"this"]
    assert (await state(bus))[SESSIONS]["state"]["messages"] == 0


async def test_an_unguarded_event_is_stored_and_accepted_by_no_reader(
    nats: NatsServer, settings: Settings, bus: Bus
) -> None:
    """Permissions cannot ask for headers: the readers of the log do."""
    loaded, _ = await began(bus)
    body = b'{"type": "plan.drafted"}'
    async with visiting(nats, "planner") as visitor:
        await visitor.client.request(f"session.{SESSION}.user.plan.drafted", body, timeout=20)
    assert await accepted(bus, loaded) == []
    [stored] = await bus.log.read(SESSION, after=loaded.position)
    assert isinstance(stored, StoredMessage)
    assert stored.data == body


# --- the file for servers that are not ours


def checked(**passwords: str) -> subprocess.CompletedProcess[str]:
    """The server reads its configuration and ends."""
    command = (str(find_binary()[0]), "-t", "-c", str(ROOT / "deploy" / "nats.conf"))
    return subprocess.run(command, env=passwords, capture_output=True, text=True, check=False)


def test_the_server_accepts_the_containers_configuration_with_all_passwords() -> None:
    passwords = {variable(user): f"p{token_hex(16)}" for user in USERS}
    output = checked(**passwords)
    assert "is valid" in output.stdout + output.stderr
    del passwords["NATS_PASSWORD_GATEWAY"]
    output = checked(**passwords)
    assert output.returncode != 0
    assert "NATS_PASSWORD_GATEWAY" in output.stdout + output.stderr
