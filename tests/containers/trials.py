"""Tests of docker-compose.yml on a Docker engine. They run in order: each goes on where the one before it ended.

Run by `scripts/try-containers`, which finds an engine.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.operate.programs import SECRETS_OF
from parley.client import Connection, Parley
from parley.client.connection import Message
from parley.client.endpoint import Endpoint
from parley.events import SessionEvent
from parley.protocol import client as c
from parley.protocol import server as s
from shared.services import SERVICES
from tests.containers.stack import IMAGE, PROJECT, ROOT, Stack, wait_until

REQUEST = "Help me create a simple calculator"
SLOW_PROGRAM = "import time\n\n\ndef main():\n    time.sleep(4)\n    print('done')\n\n\nmain()\n"
SECRET_FOLDERS = " ".join((*SECRETS_OF, "nats", "postgres", "secrets"))
OWN_FOLDER = {"reader": "postgres", "provision": "parley"}  # containers whose secrets folder has another name
ATTACKS = ("python", "-m", "tests.support.attacks")
WITH_TESTS = ("-v", f"{ROOT / 'tests'}:/app/tests:ro")  # the image contains no tests
ALL_BLOCKED, REFUSED = 0, 2  # exit codes of the attacks
LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """The running stack. At the end nothing of it is left."""
    stack = Stack()
    stack.remove()
    try:
        stack.compose("up", "--build", "-d")
        stack.wait_until_healthy()
        yield stack
    finally:
        print(stack.compose("ps"), stack.compose("logs", "--tail", "40"))  # pytest shows this after a failure
        stack.remove()


@pytest.fixture(scope="module")
def token(stack: Stack) -> str:
    """The login token, from `parley url` in the gateway."""
    output = stack.compose("exec", "-T", "gateway", "parley", "url").strip()
    match = re.fullmatch(re.escape(stack.url) + r"\?token=(\S+)", output)
    assert match, output
    return match[1]


class RecordingConnection(Connection):
    """A connection that keeps the events it received."""

    def __init__(self, *endpoints: Endpoint) -> None:
        super().__init__(*endpoints)
        self.events: list[SessionEvent] = []

    async def __anext__(self) -> Message:
        message = await super().__anext__()
        if isinstance(message, s.EventMessage):
            self.events.append(message.event)
        return message

    async def event(self, kind: str) -> Any:
        """The next event of this type."""
        return (await self.until(s.EventMessage, lambda message: message.event.type == kind)).event

    async def approve(self, review: s.TextPlanReview | s.CodeReview) -> None:
        await self.send(c.Approval(type="approval", approved=True, version=review.version, hash=review.hash))


@asynccontextmanager
async def new_session(stack: Stack, token: str) -> AsyncIterator[RecordingConnection]:
    """A session whose request is sent. At the end each event must have arrived once and in order."""
    async with RecordingConnection(Endpoint(stack.url, token)) as session:
        assert (await session.until(s.Greeting)).can_run_code
        await session.send(c.UserMessage(type="user_message", content=REQUEST))
        yield session
        assert [event.version for event in session.events] == list(range(1, len(session.events) + 1))


async def test_the_conversation_of_the_readme(stack: Stack, token: str) -> None:
    async with new_session(stack, token) as session:
        plan = await session.until(s.TextPlanReview)
        await session.send(c.Feedback(type="feedback", content="Add a step to write a short help text"))
        longer = await session.until(s.TextPlanReview)
        assert len(longer.steps) == len(plan.steps) + 1
        await session.approve(longer)
        code = await session.until(s.CodeReview)
        assert len(code.checks) > 2
        assert all(check.ok for check in code.checks)
        await session.approve(code)
        await session.event("code.approved")
        await session.send(c.Run(type="run", stdin="1 + 2\n"))
        (ran,) = (await session.event("actions.finished")).outcomes
        assert ran.ok, ran.result
        await session.event("turn.verified")


def test_containers_have_no_root_no_rights_and_limits(stack: Stack) -> None:
    containers = stack.containers()
    running = {container.service for container in containers if container.is_running}
    assert running == {*SERVICES, "nats", "postgres", "rehearsal"}
    for _, name, details in containers:
        config, host = details["Config"], details["HostConfig"]
        assert config["User"].split(":")[0] not in ("", "0", "root"), name
        assert host["ReadonlyRootfs"], name
        assert (host["CapDrop"], host["CapAdd"] or [], host["Privileged"]) == (["ALL"], [], False), name
        assert any(text.startswith("no-new-privileges") for text in host["SecurityOpt"]), name
        assert host["Memory"], name
        assert host["PidsLimit"], name


def test_the_kernel_confirms_it_of_each_first_process(stack: Stack) -> None:
    for _, name, _ in filter(lambda container: container.is_running, stack.containers()):
        lines = stack.docker("exec", name, "cat", "/proc/1/status").splitlines()
        status = dict(line.split(":", 1) for line in lines if ":" in line)
        assert "0" not in status["Uid"].split(), name
        assert {int(status[kind], 16) for kind in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb")} == {0}, name
        assert status["NoNewPrivs"].strip() == "1", name
        mounts = [line.split() for line in stack.docker("exec", name, "cat", "/proc/1/mounts").splitlines()]
        assert any(words[1] == "/" and "ro" in words[3].split(",") for words in mounts), name


def test_only_the_gateway_is_published_on_loopback(stack: Stack) -> None:
    ports = [
        (container.service, f"http://{bound['HostIp']}:{bound['HostPort']}/")
        for container in stack.containers()
        for bindings in (container.details["HostConfig"]["PortBindings"] or {}).values()
        for bound in bindings
    ]
    assert ports == [("gateway", stack.url)]


def test_containers_read_their_own_secrets_and_no_others(stack: Stack) -> None:
    readable = f"cd /run/parley && for one in {SECRET_FOLDERS}; do ls $one >/dev/null 2>&1 && echo $one; done; true"
    for service, name, details in filter(lambda container: container.is_running, stack.containers()):
        if service == "rehearsal":
            assert not details["Mounts"]
        else:
            folders = stack.docker("exec", name, "sh", "-c", readable).split()
            assert folders == [OWN_FOLDER.get(service, service)], name


async def test_with_replicas_a_conversation_survives_a_killed_planner_and_a_crashed_executor(
    stack: Stack, token: str
) -> None:
    replicas = {"planner": 3, "plan_store": 2}
    stack.compose("up", "-d", *(word for name in replicas for word in ("--scale", f"{name}={replicas[name]}")))
    stack.wait_until_healthy(**replicas)

    def planners_at_work() -> list[str]:
        return [planner.name for planner in stack.containers("planner") if stack.is_calling_model(planner)]

    wait_until(lambda: not planners_at_work())  # idle connections are closed
    (model,), (executor,) = stack.containers("rehearsal"), stack.containers("executor")
    stack.ask_model(model.name, "/faults", {"task": "text_plan", "token_delay": 0.25, "times": 1})
    async with new_session(stack, token) as session:
        await session.until(s.Delta, lambda delta: delta.kind == "plan")
        (busy,) = await asyncio.to_thread(planners_at_work)
        await asyncio.to_thread(stack.docker, "kill", busy)
        await session.approve(await session.until(s.TextPlanReview))
        code = await session.until(s.CodeReview)
        await session.send(c.Edit(type="edit", target="code", version=code.version or 0, content=SLOW_PROGRAM))
        await session.approve(await session.until(s.CodeReview))
        await session.event("code.approved")
        await session.send(c.Run(type="run"))
        await session.event("actions.started")
        # Kills all processes but the container's first, which then ends.
        await asyncio.to_thread(stack.run, "docker", "exec", executor.name, "sh", "-c", "kill -9 -1")
        (ran,) = (await session.event("actions.finished")).outcomes
        assert (ran.ok, ran.result["stdout"]) == (True, "done\n")
        await session.event("turn.verified")
        types = [event.type for event in session.events]
        assert (types.count("plan.drafted"), types.count("actions.finished")) == (1, 1)
    stack.docker("start", busy)
    stack.wait_until_healthy(**replicas)
    assert stack.containers("executor")[0].details["RestartCount"] == 1


def test_no_secret_is_in_an_environment_an_image_or_a_log(stack: Stack) -> None:
    # Read as root from the volume, which no container of the project may do.
    (volume,) = stack.docker("volume", "ls", "-q", "--filter", f"name={PROJECT}_secrets").split()
    with_root = ("run", "--rm", "--user", "0", "--network", "none", "-v", f"{volume}:/run/parley:ro", IMAGE)
    secrets = set(
        stack.docker(*with_root, "sh", "-c", "for one in /run/parley/secrets/*; do cat $one; echo; done").split()
    )
    assert len(secrets) > 10
    texts = {container.name: json.dumps(container.details) for container in stack.containers()}
    texts["the image"] = stack.docker("inspect", IMAGE) + stack.docker("history", "--no-trunc", IMAGE)
    texts |= {f"the log of {name}": text for name, text in stack.logs()}
    assert [where for where, text in texts.items() if any(secret in text for secret in secrets)] == []


def test_services_lacked_no_permission_and_logged_no_traceback(stack: Stack) -> None:
    wrong = re.compile(r".*(?:nats_forbidden|Violation|Traceback).*")
    assert {name: lines for name, text in stack.logs() if (lines := wrong.findall(text))} == {}


def test_the_executor_blocks_all_attacks(stack: Stack) -> None:
    done = stack.run(*stack.composed, "run", "--rm", "--no-deps", "-T", *WITH_TESTS, "executor", *ATTACKS)
    assert done.returncode == ALL_BLOCKED, done.stderr + done.stdout


@pytest.mark.parametrize(
    ("options", "only", "expected_code"),
    [
        pytest.param(["--user", "0"], [], ALL_BLOCKED, id="as root"),
        # Without SYS_PTRACE, root cannot enforce these limits on other processes; with it, it can.
        pytest.param(["--user", "0", "--cap-add", "SYS_PTRACE"], ["hide", "disk"], ALL_BLOCKED, id="with SYS_PTRACE"),
        pytest.param(["--user", "0", "--cap-drop", "ALL"], [], REFUSED, id="as root without rights"),
        pytest.param(["--security-opt", "seccomp=no-landlock.json"], [], REFUSED, id="without Landlock"),
    ],
)
def test_the_image_blocks_all_attacks_or_refuses_to_run_programs(
    stack: Stack, tmp_path: Path, options: list[str], only: list[str], expected_code: int
) -> None:
    rules = [{"names": LANDLOCK, "action": "SCMP_ACT_ERRNO"}]
    profile = tmp_path / "no-landlock.json"
    profile.write_text(json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules}))
    located = [option.replace(profile.name, str(profile)) for option in options]
    isolated = ("--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp", *WITH_TESTS, *located)
    done = stack.run("docker", "run", *isolated, IMAGE, *ATTACKS, *only)
    assert done.returncode == expected_code, done.stderr + done.stdout


async def test_a_model_of_the_shell_is_asked_instead_of_the_stand_in(stack: Stack, token: str) -> None:
    (stand_in,), model = stack.containers("rehearsal"), f"{PROJECT}-model"
    stack.compose("run", "-d", "--no-deps", "--name", model, "rehearsal")
    asked_before = stack.ask_model(stand_in.name, "/calls")
    stack.environment |= {"OPENAI_BASE_URL": f"http://{model}:23333/v1", "OPENAI_API_KEY": "sk-trial"}
    stack.compose("up", "-d", "--scale", "planner=2")
    stack.wait_until_healthy(planner=2)
    async with Parley(stack.url, token=token) as parley:
        snapshot = await (await parley.start(REQUEST)).wait()
    assert isinstance(snapshot.review, s.TextPlanReview), snapshot
    assert stack.ask_model(model, "/calls")
    assert stack.ask_model(stand_in.name, "/calls") == asked_before
