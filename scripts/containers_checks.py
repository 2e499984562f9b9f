"""Security checks of every container: no root, no capabilities, a read-only file system, only its own secrets."""

import json

from cli.entitlements import SECRETS_OF
from scripts.containers_stack import IMAGE, Container, Stack, require
from shared.services import SERVICES

FOLDERS = " ".join((*SECRETS_OF, "nats", "postgres", "secrets"))
OWN = {"reader": "postgres", "provision": "parley"}  # containers whose secrets folder has another name
ALIVE = {*SERVICES, "nats", "postgres", "rehearsal"}


def check_hardening(stack: Stack) -> str:
    """No root user, a read-only root file system, no capabilities and no way to gain any."""
    containers = stack.containers()
    require(
        {container.service for container in containers if container.is_running} == ALIVE,
        "other containers run than should",
    )
    for container in containers:
        config, host = container.details["Config"], container.details["HostConfig"]
        require(config["User"].split(":")[0] not in ("", "0", "root"), f"{container.name} runs as root")
        require(host["ReadonlyRootfs"], f"{container.name}: its root file system can be written to")
        require(
            host["CapDrop"] == ["ALL"] and not host["CapAdd"] and not host["Privileged"], f"{container.name} has rights"
        )
        require(
            any(text.startswith("no-new-privileges") for text in host["SecurityOpt"]),
            f"{container.name} may gain rights",
        )
        require(host["Memory"] and host["PidsLimit"], f"{container.name} has no limits")
        if container.is_running:
            _check_from_inside(stack, container)
    return f"{len(containers)} containers: not root, read-only, without capabilities, with limits"


def _check_from_inside(stack: Stack, container: Container) -> None:
    """Check what the kernel reports about the first process and the root file system."""
    lines = stack.execute(container.name, "cat", "/proc/1/status").splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    require("0" not in status["Uid"].split(), f"{container.name}: process 1 is root's")
    for kind in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"):
        require(int(status[kind], 16) == 0, f"{container.name}: {kind} is {status[kind].strip()}")
    require(status["NoNewPrivs"].strip() == "1", f"{container.name}: no_new_privs is not set")
    mounts = [line.split() for line in stack.execute(container.name, "cat", "/proc/1/mounts").splitlines()]
    require(
        any(words[1] == "/" and "ro" in words[3].split(",") for words in mounts),
        f"{container.name}: / is not read-only",
    )


def check_published_ports(stack: Stack) -> str:
    """Only one port is published, on loopback."""
    ports = [
        (container.service, bound["HostIp"], bound["HostPort"])
        for container in stack.containers()
        for bindings in (container.details["HostConfig"]["PortBindings"] or {}).values()
        for bound in bindings
    ]
    require(ports == [("gateway", "127.0.0.1", str(stack.port))], f"published is {ports}")
    return "only the gateway is published, on 127.0.0.1"


def check_secret_isolation(stack: Stack) -> str:
    """Each container can read its own secrets folder, and no other."""
    readable = f"cd /run/parley && for one in {FOLDERS}; do ls $one >/dev/null 2>&1 && echo $one; done; true"
    for container in stack.containers():
        if container.is_running and container.service != "rehearsal":
            folders = stack.execute(container.name, "sh", "-c", readable).split()
            require(folders == [OWN.get(container.service, container.service)], f"{container.name} can read {folders}")
    require(not stack.container_of("rehearsal").details["Mounts"], "the rehearsal model has a volume")
    return "every container reads its own secrets and no other's"


def check_secrets_undisclosed(stack: Stack, secrets: set[str]) -> str:
    """No secret occurs in the metadata of containers and image, or in any log."""
    require(len(secrets) > 10, "the secrets were not found")
    texts = {container.name: json.dumps(container.details) for container in stack.containers()}
    texts["the image"] = stack.docker("inspect", IMAGE) + stack.docker("history", "--no-trunc", IMAGE)
    texts |= {f"the log of {container.name}": text for container, text in stack.logs()}
    for where, text in texts.items():
        require(not [secret for secret in secrets if secret in text], f"a secret is in {where}")
    return f"none of {len(secrets)} secrets is in an environment, an image or a log"


def check_logs(stack: Stack) -> str:
    """No service lacked a permission on NATS, and none logged a traceback."""
    for container, text in stack.logs():
        for word in ("nats_forbidden", "Violation", "Traceback"):
            lines = [line for line in text.splitlines() if word in line]
            require(not lines, f"{container.name} logged {lines[:1]}")
    return "no right was missing and no traceback was logged"
