"""What must hold of every container: no root, no rights, nothing to write on, and no secret but its own."""

import json

from cli.entitlements import SECRETS_OF
from scripts.containers_stack import IMAGE, Container, Stack, must
from shared.services import SERVICES

FOLDERS = " ".join((*SECRETS_OF, "nats", "postgres", "secrets"))
OWN = {"reader": "postgres", "provision": "parley"}  # containers whose folder of secrets has another name
ALIVE = {*SERVICES, "nats", "postgres", "rehearsal"}


def hardened(stack: Stack) -> str:
    """No root, a root file system that cannot be written to, no capability, and no way to get one."""
    found = stack.containers()
    must({one.service for one in found if one.running} == ALIVE, "other containers run than should")
    for one in found:
        config, host = one.told["Config"], one.told["HostConfig"]
        must(config["User"].split(":")[0] not in ("", "0", "root"), f"{one.name} runs as root")
        must(host["ReadonlyRootfs"], f"{one.name}: its root file system can be written to")
        must(host["CapDrop"] == ["ALL"] and not host["CapAdd"] and not host["Privileged"], f"{one.name} has rights")
        must(any(text.startswith("no-new-privileges") for text in host["SecurityOpt"]), f"{one.name} may gain rights")
        must(host["Memory"] and host["PidsLimit"], f"{one.name} has no limits")
        if one.running:
            _looked_at_from_inside(stack, one)
    return f"{len(found)} containers: not root, read-only, without capabilities, with limits"


def _looked_at_from_inside(stack: Stack, one: Container) -> None:
    """As the kernel sees it: the first process, and the root file system."""
    lines = stack.inside(one.name, "cat", "/proc/1/status").splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    must("0" not in status["Uid"].split(), f"{one.name}: process 1 is root's")
    for kind in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"):
        must(int(status[kind], 16) == 0, f"{one.name}: {kind} is {status[kind].strip()}")
    must(status["NoNewPrivs"].strip() == "1", f"{one.name}: no_new_privs is not set")
    mounts = [line.split() for line in stack.inside(one.name, "cat", "/proc/1/mounts").splitlines()]
    must(any(words[1] == "/" and "ro" in words[3].split(",") for words in mounts), f"{one.name}: / is not read-only")


def published(stack: Stack) -> str:
    """One port, on loopback."""
    ports = [
        (one.service, bound["HostIp"], bound["HostPort"])
        for one in stack.containers()
        for bindings in (one.told["HostConfig"]["PortBindings"] or {}).values()
        for bound in bindings
    ]
    must(ports == [("gateway", "127.0.0.1", str(stack.port))], f"published is {ports}")
    return "only the gateway is published, on 127.0.0.1"


def kept_apart(stack: Stack) -> str:
    """Each container reads its own folder of secrets, and no other."""
    readable = f"cd /run/parley && for one in {FOLDERS}; do ls $one >/dev/null 2>&1 && echo $one; done; true"
    for one in stack.containers():
        if one.running and one.service != "rehearsal":
            found = stack.inside(one.name, "sh", "-c", readable).split()
            must(found == [OWN.get(one.service, one.service)], f"{one.name} can read {found}")
    must(not stack.one("rehearsal").told["Mounts"], "the rehearsal model has a volume")
    return "every container reads its own secrets and no other's"


def undisclosed(stack: Stack, secrets: set[str]) -> str:
    """No secret in what Docker tells of containers and image, nor in any log."""
    must(len(secrets) > 10, "the secrets were not found")
    shown = {one.name: json.dumps(one.told) for one in stack.containers()}
    shown["the image"] = stack.docker("inspect", IMAGE) + stack.docker("history", "--no-trunc", IMAGE)
    shown |= {f"the log of {one.name}": text for one, text in stack.logs()}
    for where, text in shown.items():
        must(not [secret for secret in secrets if secret in text], f"a secret is in {where}")
    return f"none of {len(secrets)} secrets is in an environment, an image or a log"


def at_peace(stack: Stack) -> str:
    """Every service could do its work with the rights it has on NATS, and none ended by an exception of its own."""
    for one, text in stack.logs():
        for word in ("nats_forbidden", "Violation", "Traceback"):
            lines = [line for line in text.splitlines() if word in line]
            must(not lines, f"{one.name} logged {lines[:1]}")
    return "no right was missing and no traceback was logged"
