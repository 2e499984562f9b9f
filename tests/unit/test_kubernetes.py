"""The Kubernetes manifests: valid for the newest schemas we have, and in step with the code and with each other."""

import os
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from cli.entitlements import SECRETS_OF
from cli.nats_server import find_binary
from shared.bus.topology import consumers
from shared.bus.users import USERS
from shared.services import OPERATOR
from shared.settings import Settings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kubernetes"
OVERLAYS = sorted(path.parent for path in FOLDER.rglob("kustomization.yaml"))
VERSION = kubernetes_validate.latest_version()
CUSTOM = {"ScaledObject"}  # its schema comes with KEDA
Manifest = dict[str, Any]


def documents(path: Path) -> list[Manifest]:
    return [one for one in yaml.safe_load_all(path.read_text("utf-8")) if one]


def kustomization(folder: Path) -> Manifest:
    return documents(folder / "kustomization.yaml")[0]


def resources(folder: Path) -> list[Manifest]:
    """What the folder's kustomization lists, overlays' bases included."""
    found: list[Manifest] = []
    for name in kustomization(folder)["resources"]:
        path = (folder / name).resolve()
        found += resources(path) if path.is_dir() else documents(path)
    return found


ALL = resources(FOLDER / "trial") + resources(FOLDER / "scaling")


def named(kind: str) -> dict[str, Manifest]:
    return {one["metadata"]["name"]: one for one in ALL if one["kind"] == kind}


def pods() -> dict[str, Manifest]:
    """Pod specification of everything that runs."""
    running = [one for one in ALL if one["kind"] in ("Deployment", "StatefulSet", "Job")]
    return {one["metadata"]["name"]: one["spec"]["template"]["spec"] for one in running}


def test_every_file_is_listed_once() -> None:
    for folder in OVERLAYS:
        listed = kustomization(folder)["resources"]
        files = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
        assert files == {name for name in listed if name.endswith(".yaml")}
        for generated in kustomization(folder).get("configMapGenerator", []):
            assert [name for name in generated.get("files", []) if not (folder / name).is_file()] == []


@pytest.mark.parametrize("manifest", ALL, ids=lambda one: f"{one['kind']} {one['metadata']['name']}")
def test_the_manifest_is_valid(manifest: Manifest) -> None:
    if manifest["kind"] not in CUSTOM:
        kubernetes_validate.validate(manifest, VERSION, strict=True)


def test_a_wrong_manifest_is_found() -> None:
    wrong = yaml.safe_load(yaml.safe_dump(named("Deployment")["planner"]))
    wrong["spec"]["template"]["spec"]["containers"][0]["livenessProbes"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSION, strict=True)


def test_every_service_runs_with_as_little_as_it_needs() -> None:
    for name, pod in pods().items():
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["securityContext"]["runAsNonRoot"] is True, name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, name
            assert {"requests", "limits"} <= container["resources"].keys(), name


def test_no_secret_is_written_down() -> None:
    assert named("Secret") == {}
    for pod in pods().values():
        for container in pod["containers"]:
            values = {one["name"]: one.get("value", "") for one in container.get("env", [])}
            assert not [name for name in values if name.endswith(("PASSWORD", "TOKEN", "KEY", "KEYS", "SECRET"))]


def made(**given: str) -> dict[str, dict[str, str]]:
    """The Secrets that the script prints: name → their entries."""
    done = subprocess.run(
        [FOLDER / "make-secrets"], env={"PATH": os.environ["PATH"]} | given, capture_output=True, text=True, check=True
    )
    found = [one for one in yaml.safe_load_all(done.stdout) if one]
    for one in found:
        kubernetes_validate.validate(one, VERSION, strict=True)
    return {one["metadata"]["name"]: one["stringData"] for one in found}


def test_every_secret_that_is_used_is_made() -> None:
    used = {
        volume["secret"]["secretName"]
        for pod in pods().values()
        for volume in pod.get("volumes", [])
        if "secret" in volume
    }
    assert set(made()) == used | {"parley-nats"}


def test_each_service_gets_its_own_password_that_nats_knows() -> None:
    secrets = made(OPENAI_API_KEY="it's 'quoted'", PARLEY_API_KEYS="alice=k")
    known = secrets["parley-nats"]
    assert set(known) == {f"NATS_PASSWORD_{user.upper()}" for user in USERS}
    assert len(set(known.values())) == len(USERS)
    for user in USERS:
        name = "operator" if user == OPERATOR else user.replace("_", "-")
        assert (
            secrets[f"parley-{name}"]["nats_url"] == f"nats://{user}:{known[f'NATS_PASSWORD_{user.upper()}']}@nats:4222"
        )
    assert secrets["parley-planner"]["openai_api_key"] == "it's 'quoted'"
    holders = {name for name, entries in secrets.items() if "database_url" in entries}
    assert holders == {"parley-plan-store", "parley-executor", "parley-operator"}
    gateway = {"nats_url", "parley_secret", "parley_token", "parley_api_keys", "parley_metrics_token"}
    assert set(secrets["parley-gateway"]) == gateway
    assert made() != made()


def test_each_service_gets_settings_that_it_reads() -> None:
    """A file in SECRETS_DIR that is no setting would be ignored without a word."""
    given = made(PARLEY_SQL_DATABASE_URL="sqlite:///x.db", OPENAI_API_KEY="k", PARLEY_API_KEYS="alice=k")
    for user, names in SECRETS_OF.items():
        name = "operator" if user == OPERATOR else user.replace("_", "-")
        assert given[f"parley-{name}"].keys() <= set(names) <= Settings.model_fields.keys()


def test_nats_reads_its_configuration() -> None:
    binary, _ = find_binary()
    environment = os.environ | made()["parley-nats"]
    done = subprocess.run(
        [binary, "-t", "-c", FOLDER / "nats.conf"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_each_service_of_the_code_is_deployed() -> None:
    modules = {path.parent.name for path in (ROOT / "services").glob("*/app.py")}
    assert {name.replace("-", "_") for name in named("Deployment")} == modules | {"rehearsal"}


def test_keda_watches_consumers_that_exist() -> None:
    known = {(stream, config["name"]) for stream, config in consumers(Settings())}
    for name, scaled in named("ScaledObject").items():
        watched = scaled["spec"]["triggers"][0]["metadata"]
        assert (watched["stream"], watched["consumer"]) in known
        assert scaled["spec"]["scaleTargetRef"]["name"] in named("Deployment")
        assert scaled["spec"]["minReplicaCount"] == named("Deployment")[name]["spec"]["replicas"]
        host, _, port = watched["natsServerMonitoringEndpoint"].partition(":")
        service = named("Service")[host.split(".")[0]]
        assert int(port) in {one["port"] for one in service["spec"]["ports"]}


def test_nobody_is_reached_who_is_not_named() -> None:
    policies = named("NetworkPolicy")
    assert policies["default-deny"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    databases = {name for name, one in policies.items() if any(5432 in ports(rule) for rule in egress(one))}
    assert databases == {"plan-store-database", "executor-database"}


def egress(policy: Manifest) -> list[Manifest]:
    return list(policy["spec"].get("egress", []))


def ports(rule: Manifest) -> set[int]:
    return {one["port"] for one in rule.get("ports", [])}


def test_a_budget_and_an_anti_affinity_for_what_must_stay() -> None:
    assert set(named("PodDisruptionBudget")) == set(named("Deployment")) - {"rehearsal"} | {"nats"}
    rules = pods()["nats"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rules[0]["topologyKey"] == "kubernetes.io/hostname"
    assert named("StatefulSet")["nats"]["spec"]["replicas"] == 3
    assert "NATS_REPLICAS=3" in kustomization(FOLDER)["configMapGenerator"][1]["literals"]
