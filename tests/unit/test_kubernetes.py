"""The Kubernetes manifests: valid for the newest schemas in the repository, and with minimal privileges."""

import os
import subprocess

import kubernetes_validate  # type: ignore[import-untyped]
import pytest

from cli.operate.nats_server import find_binary
from tests.support.manifests import ALL, FOLDER, Manifest, kustomization, named, printed_secrets

BASE = FOLDER / "base"
OVERLAYS = sorted(path.parent for path in FOLDER.rglob("kustomization.yaml"))
VERSION = kubernetes_validate.latest_version()
CUSTOM = {"ScaledObject"}  # its schema comes with KEDA


def pods() -> dict[str, Manifest]:
    """The pod specifications by name."""
    running = [item for item in ALL if item["kind"] in ("Deployment", "StatefulSet", "Job")]
    return {item["metadata"]["name"]: item["spec"]["template"]["spec"] for item in running}


def test_every_manifest_file_is_listed_in_its_kustomization() -> None:
    for folder in OVERLAYS:
        listed = kustomization(folder)["resources"]
        listed += [patch["path"] for patch in kustomization(folder).get("patches", [])]
        files = {path.name for path in folder.glob("*.yaml")} - {"kustomization.yaml"}
        assert files == {name for name in listed if name.endswith(".yaml")}
        for generated in kustomization(folder).get("configMapGenerator", []):
            assert [name for name in generated.get("files", []) if not (folder / name).is_file()] == []


@pytest.mark.parametrize("manifest", ALL, ids=lambda item: f"{item['kind']} {item['metadata']['name']}")
def test_the_manifest_is_valid(manifest: Manifest) -> None:
    if manifest["kind"] not in CUSTOM:
        kubernetes_validate.validate(manifest, VERSION, strict=True)


def test_every_pod_runs_with_minimal_privileges() -> None:
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


def test_no_manifest_contains_a_secret() -> None:
    assert named("Secret") == {}
    for pod in pods().values():
        for container in pod["containers"]:
            values = {item["name"]: item.get("value", "") for item in container.get("env", [])}
            assert not [name for name in values if name.endswith(("PASSWORD", "TOKEN", "KEY", "KEYS", "SECRET"))]


def test_nats_accepts_its_configuration() -> None:
    binary, _ = find_binary()
    environment = os.environ | printed_secrets()["parley-nats"]
    result = subprocess.run(
        [binary, "-t", "-c", BASE / "nats.conf"], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_only_two_policies_allow_the_database_and_model_ports() -> None:
    policies = named("NetworkPolicy")
    assert policies["default-deny"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    policies_by_port = {port: {name for name, item in policies.items() if port in ports(item)} for port in (5432, 443)}
    assert policies_by_port == {5432: {"database"}, 443: {"models"}}


def ports(policy: Manifest) -> set[int]:
    """The ports that pods with this policy may connect to."""
    return {item["port"] for rule in policy["spec"].get("egress", []) for item in rule.get("ports", [])}


def test_every_secret_is_valid() -> None:
    for name, entries in printed_secrets().items():
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": entries}
        kubernetes_validate.validate(secret, VERSION, strict=True)


def test_nats_runs_on_three_nodes() -> None:
    rules = pods()["nats"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert rules[0]["topologyKey"] == "kubernetes.io/hostname"
    assert named("StatefulSet")["nats"]["spec"]["replicas"] == 3
    assert "NATS_REPLICAS=3" in kustomization(BASE)["configMapGenerator"][1]["literals"]
