"""Installs a package with entry points for a test, as pip would: modules and metadata on the path."""

import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

import pytest


def installed(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    modules: Mapping[str, str],
    entry_points: Mapping[str, Mapping[str, str]],
) -> None:
    """Install a package of these modules. `entry_points` maps groups to names to values."""
    site = folder / "site"
    metadata = site / "outside-1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1\n")
    lines = [
        line
        for group, entries in entry_points.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    for name, source in modules.items():
        (site / f"{name}.py").write_text(dedent(source))
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(site)
