"""The catalogue of services, and the hand-written files that must match it: image, compose, Kubernetes, Prometheus."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared.bus.users import USERS
from shared.services import OPERATOR, OPERATOR_SECRETS, SERVICES
from tests.support.manifests import Manifest, named, printed_secrets

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, dict[str, Any]] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]
SCRAPES: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text("utf-8"))


def slug(name: str) -> str:
    """The name in a form that Kubernetes accepts."""
    return name.replace("_", "-")


def test_every_service_is_registered() -> None:
    assert set(SERVICES) == {path.parent.name for path in (ROOT / "services").glob("*/app.py")}
    assert [spec.name for spec in SERVICES.values() if not importlib.util.find_spec(spec.module)] == []


# --- Dockerfile and docker-compose.yml


def commands_of_the_image(folder: Path) -> list[list[str]]:
    """The commands of the Dockerfile's step that creates the users. Stubs replace them, so nothing is created."""
    (step,) = re.findall(r"^RUN (services=.+?[^\\])$", (ROOT / "Dockerfile").read_text(), re.MULTILINE | re.DOTALL)
    for name in ("groupadd", "useradd", "usermod", "install"):
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
        (folder / name).chmod(0o755)
    (folder / "python").symlink_to(sys.executable)
    path = f"{folder}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["sh", "-c", step], env={"PATH": path, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    return [line.split() for line in ran.stdout.splitlines()]


def test_the_image_has_a_user_for_each_service(tmp_path: Path) -> None:
    commands = commands_of_the_image(tmp_path)
    groups = {words[-1]: int(words[2]) for words in commands if words[0] == "groupadd"}
    users = {words[-1]: int(words[words.index("--uid") + 1]) for words in commands if words[0] == "useradd"}
    assert len(set(groups.values())) == len(groups)
    assert {name: groups[name] for name in users} == users
    assert {name: users[name] for name in SERVICES} == {name: spec.uid for name, spec in SERVICES.items()}
    (usermod,) = [words for words in commands if words[0] == "usermod"]
    assert usermod[-1] == "secrets"
    assert set(usermod[2].split(",")) == {*SERVICES, OPERATOR, "nats", "postgres"}
    for name, container in COMPOSE.items():
        user = container["user"]
        assert user in users or user in ("postgres", f"{users['nats']}:{users['nats']}"), name
        assert container.get("group_add", [str(groups["postgres"])]) == [str(groups["postgres"])], name


def test_compose_runs_the_services_and_no_others() -> None:
    assert COMPOSE["provision"]["environment"]["SECRETS_DIR"] == f"/run/parley/{OPERATOR}"
    commands = {name: container.get("command", [])[2:] for name, container in COMPOSE.items()}
    assert {name for name, words in commands.items() if words and words[0].startswith("services.")} == set(SERVICES)


@pytest.mark.parametrize("name", SERVICES)
def test_compose_runs_the_service(name: str) -> None:
    container, spec = COMPOSE[name], SERVICES[name]
    port = "${AGENT_PORT:-8001}" if name == "gateway" else str(spec.port)
    environment = container["environment"]
    assert container["command"] == ["python", "-m", spec.module]
    assert container["image"] == COMPOSE["provision"]["image"]
    assert container["user"] == name
    assert environment["SECRETS_DIR"] == f"/run/parley/{name}"
    assert environment["AGENT_PORT" if name == "gateway" else "HEALTH_PORT"] == port
    assert container["restart"] == "unless-stopped", "the watchdog ends a service and relies on that"
    assert re.search(rf"http://127\.0\.0\.1:{re.escape(port)}/(healthz|readyz)'", container["healthcheck"]["test"][-1])


# --- Kubernetes


def test_kubernetes_runs_the_services_and_no_others() -> None:
    assert set(named("Deployment")) == {slug(name) for name in SERVICES} | {"rehearsal"}
    assert set(named("PodDisruptionBudget")) == {slug(name) for name in SERVICES} | {"nats"}


@pytest.mark.parametrize("name", SERVICES)
def test_kubernetes_runs_the_service(name: str) -> None:
    deployment, spec = named("Deployment")[slug(name)], SERVICES[name]
    template: Manifest = deployment["spec"]["template"]
    labels, pod = template["metadata"]["labels"], template["spec"]
    (container,) = pod["containers"]
    environment = {entry["name"]: entry["value"] for entry in container["env"]}
    (volume,) = [entry for entry in pod["volumes"] if entry["name"] == "secrets"]

    assert container["image"] == "parley"
    assert pod.get("restartPolicy", "Always") == "Always", "the watchdog ends a service and relies on that"
    assert container["command"] == ["python", "-m", spec.module]
    assert container["ports"] == [{"name": "http", "containerPort": spec.port}]
    assert environment["AGENT_PORT" if name == "gateway" else "HEALTH_PORT"] == str(spec.port)
    for probe, path in (("startup", "/healthz"), ("liveness", "/healthz"), ("readiness", "/readyz")):
        assert container[f"{probe}Probe"]["httpGet"] == {"path": path, "port": "http"}
    assert template["metadata"]["annotations"] == {
        "prometheus.io/scrape": "true",
        "prometheus.io/path": "/metrics",
        "prometheus.io/port": str(spec.port),
    }
    assert volume["secret"]["secretName"] == f"parley-{slug(name)}"
    mounts = {entry["name"]: entry["mountPath"] for entry in container["volumeMounts"]}
    assert mounts["secrets"] == environment["SECRETS_DIR"]

    selector = {"app.kubernetes.io/name": slug(name)}
    assert deployment["spec"]["selector"]["matchLabels"] == selector
    assert named("PodDisruptionBudget")[slug(name)]["spec"]["selector"]["matchLabels"] == selector
    network_needs = {
        "parley/models": "openai_api_key" in spec.secrets,
        "parley/database": "database_url" in spec.secrets,
    }
    network_labels = {label: "true" for label, needed in network_needs.items() if needed}
    assert labels == selector | {"app.kubernetes.io/part-of": "parley"} | network_labels


def test_keda_watches_consumers_of_the_service_that_it_scales() -> None:
    for name, scaled in named("ScaledObject").items():
        watched = scaled["spec"]["triggers"][0]["metadata"]
        spec = SERVICES[name.replace("-", "_")]
        assert (watched["stream"], watched["consumer"]) in {(stream, durable) for stream, durable, _ in spec.consumers}
        assert scaled["spec"]["scaleTargetRef"] == {"name": name}
        assert scaled["spec"]["minReplicaCount"] == named("Deployment")[name]["spec"]["replicas"]
        host, _, port = watched["natsServerMonitoringEndpoint"].partition(":")
        assert int(port) in {port["port"] for port in named("Service")[host.split(".")[0]]["spec"]["ports"]}


def test_kubernetes_gives_each_service_its_secrets() -> None:
    every = {secret.upper(): f"it's {secret}" for spec in SERVICES.values() for secret in spec.secrets}
    secrets = printed_secrets(**every)
    passwords = secrets["parley-nats"]
    assert set(passwords) == {f"NATS_PASSWORD_{user.upper()}" for user in USERS}
    assert len(set(passwords.values())) == len(USERS)
    secrets_of = {name: (slug(name), spec.secrets) for name, spec in SERVICES.items()}
    for user, (name, expected) in (secrets_of | {OPERATOR: ("operator", OPERATOR_SECRETS)}).items():
        service_secrets = secrets[f"parley-{name}"]
        assert (
            service_secrets.pop("nats_url") == f"nats://{user}:{passwords[f'NATS_PASSWORD_{user.upper()}']}@nats:4222"
        )
        assert set(service_secrets) == set(expected)
        random = {"parley_secret", "parley_token", "parley_metrics_token"}
        assert {key: text for key, text in service_secrets.items() if key not in random} == {
            key: f"it's {key}" for key in expected if key not in random
        }


def test_kubernetes_generates_every_used_secret() -> None:
    running = [manifest for kind in ("Deployment", "StatefulSet", "Job") for manifest in named(kind).values()]
    volumes = [volume for manifest in running for volume in manifest["spec"]["template"]["spec"].get("volumes", [])]
    used = {volume["secret"]["secretName"] for volume in volumes if "secret" in volume}
    first, second = printed_secrets(), printed_secrets()
    assert set(first) == used | {"parley-nats"}
    assert "openai_api_key" not in first["parley-planner"]
    assert not {text for manifest in first.values() for text in manifest.values()} & {
        text for manifest in second.values() for text in manifest.values()
    }


# --- Prometheus


def test_prometheus_scrapes_every_service() -> None:
    targets = {
        name: target["port"]
        for job in SCRAPES["scrape_configs"]
        for target in job["dns_sd_configs"]
        for name in target["names"]
    }
    assert targets == {name: spec.port for name, spec in SERVICES.items()}
