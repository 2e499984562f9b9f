"""The catalogue of services, and what is held against it: the code, the image, compose, Kubernetes and Prometheus."""

import importlib.util
from pathlib import Path
from typing import get_args

from shared.events.values import Service
from shared.services import SERVICES, WORKERS

ROOT = Path(__file__).parents[2]


def test_every_service_is_in_the_catalogue() -> None:
    assert set(SERVICES) == {path.parent.name for path in (ROOT / "services").glob("*/app.py")}
    assert [spec.name for spec in SERVICES.values() if not importlib.util.find_spec(spec.module)] == []


def test_workers_are_those_that_the_log_names() -> None:
    assert set(WORKERS) == set(get_args(Service))
