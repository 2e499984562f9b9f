"""The manifests of deploy/kubernetes as kustomize builds them: those that an overlay lists, with its patches."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
Manifest = dict[str, Any]


def documents(path: Path) -> list[Manifest]:
    return [document for document in yaml.safe_load_all(path.read_text("utf-8")) if document]


def kustomization(folder: Path) -> Manifest:
    return documents(folder / "kustomization.yaml")[0]


def resources(folder: Path) -> list[Manifest]:
    """The manifests that the folder's kustomization lists, including those of its bases."""
    manifests: list[Manifest] = []
    for name in kustomization(folder)["resources"]:
        path = (folder / name).resolve()
        assert not folder.is_relative_to(path), "kustomize accepts no base that contains the overlay"
        manifests += resources(path) if path.is_dir() else documents(path)
    for patch in kustomization(folder).get("patches", []):
        assert patch["target"].keys() == {"kind"}, "this helper supports no other patch target"
        (change,) = documents(folder / patch["path"])
        del change["metadata"]["name"]
        manifests = [
            merged(manifest, change) if manifest["kind"] == patch["target"]["kind"] else manifest
            for manifest in manifests
        ]
    return manifests


def merged(value: Any, change: Any) -> Any:
    """A strategic merge: merges mappings by key and lists of named items by name, and replaces all other values."""
    if isinstance(value, dict) and isinstance(change, dict):
        return value | {key: merged(value[key], item) if key in value else item for key, item in change.items()}
    if isinstance(value, list) and isinstance(change, list) and all("name" in item for item in (*value, *change)):
        both = merged({item["name"]: item for item in value}, {item["name"]: item for item in change})
        return list(both.values())
    return change


ALL = resources(FOLDER / "trial") + resources(FOLDER / "scaling")


def named(kind: str) -> dict[str, Manifest]:
    """The manifests of this kind by name; asserts that no name occurs twice."""
    manifests = [manifest for manifest in ALL if manifest["kind"] == kind]
    by_name: dict[str, Manifest] = {manifest["metadata"]["name"]: manifest for manifest in manifests}
    assert len(by_name) == len(manifests)
    return by_name


def printed_secrets(**environment: str) -> dict[str, dict[str, str]]:
    """What deploy/kubernetes/make-secrets prints: name → entries."""
    command = [sys.executable, str(FOLDER / "make-secrets")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {
        manifest["metadata"]["name"]: manifest["stringData"] for manifest in yaml.safe_load_all(done.stdout) if manifest
    }
