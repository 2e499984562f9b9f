"""deploy/kubernetes as kustomize puts it together: the manifests that an overlay lists, with their patches merged."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
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
        assert not folder.is_relative_to(path), "kustomize takes no base that the overlay lies in"
        found += resources(path) if path.is_dir() else documents(path)
    for patch in kustomization(folder).get("patches", []):
        assert patch["target"].keys() == {"kind"}, "no other target is understood here"
        (change,) = documents(folder / patch["path"])
        del change["metadata"]["name"]
        found = [merged(one, change) if one["kind"] == patch["target"]["kind"] else one for one in found]
    return found


def merged(value: Any, change: Any) -> Any:
    """A strategic merge: mappings by key, lists of named things by name; whatever else is replaced."""
    if isinstance(value, dict) and isinstance(change, dict):
        return value | {key: merged(value[key], one) if key in value else one for key, one in change.items()}
    if isinstance(value, list) and isinstance(change, list) and all("name" in one for one in (*value, *change)):
        both = merged({one["name"]: one for one in value}, {one["name"]: one for one in change})
        return list(both.values())
    return change


ALL = resources(FOLDER / "trial") + resources(FOLDER / "scaling")


def named(kind: str) -> dict[str, Manifest]:
    """The manifests of this kind by name; there is one of each."""
    found = [one for one in ALL if one["kind"] == kind]
    by_name: dict[str, Manifest] = {one["metadata"]["name"]: one for one in found}
    assert len(by_name) == len(found)
    return by_name


def printed_secrets(**environment: str) -> dict[str, dict[str, str]]:
    """What deploy/kubernetes/make-secrets prints: name → entries."""
    command = [sys.executable, str(FOLDER / "make-secrets")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {one["metadata"]["name"]: one["stringData"] for one in yaml.safe_load_all(done.stdout) if one}
