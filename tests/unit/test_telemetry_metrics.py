"""Metrics: their names and labels, and that the dashboard and the alerts use existing ones."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client import Counter, Gauge, Histogram

from cli.operate.ports import free_port
from shared.telemetry import metrics
from shared.worker.run import health_server
from tests.support.http_client import http_client

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "deploy" / "grafana" / "parley.json"
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
NAME = re.compile(r"\b(?:parley|process)_[a-z_]+")
BY = re.compile(r"\bby \(([a-z_, ]*)\)")
LABEL = re.compile(r"[{,]\s*([a-z_]+)\s*(?:=~|!=|!~|=)")
SCRAPED = {"le", "instance"}  # labels that Prometheus and its client library add


def labels_by_name() -> dict[str, set[str]]:
    """The labels of each metric, by every name that its samples have."""
    samples: dict[str, set[str]] = {}
    for collector in metrics.REGISTRY._collector_to_names:
        labels = set(getattr(collector, "_labelnames", ()))
        for name in metrics.REGISTRY._collector_to_names[collector]:
            samples[name] = labels
    return samples


def metric_names() -> set[str]:
    """The names of Parley's metrics, without the suffixes that histograms add."""
    kinds = (Counter, Gauge, Histogram)
    samples = [value for value in vars(metrics).values() if isinstance(value, kinds)]
    return {f"{sample._name}_total" if isinstance(sample, Counter) else sample._name for sample in samples}


def expressions() -> Iterator[str]:
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))
    for group in yaml.safe_load(ALERTS.read_text())["groups"]:
        yield from (rule["expr"] for rule in group["rules"])


def test_metric_names_have_their_unit() -> None:
    units = {"messages", "connections", "sessions", "letters", "exits", "connected", "missing"}
    for name in metric_names():
        assert name.startswith("parley_")
        assert name.endswith(("_seconds", "_bytes", "_total", *(f"_{word}" for word in units))), name


def test_labels_are_known_names_without_ids_or_texts() -> None:
    known = {"outcome", "request", "role", "model", "kind", "tool", "service", "direction", "decision"}
    known |= {"method", "route", "status", "phase", "consumer", "reply", "mode"}
    assert {label for labels in labels_by_name().values() for label in labels} <= known


@pytest.mark.parametrize("expression", sorted(set(expressions())))
def test_dashboards_and_alerts_use_existing_metrics(expression: str) -> None:
    known = labels_by_name()
    used = NAME.findall(expression)
    assert used
    assert {name for name in used if name not in known} == set()
    labels = set().union(*(known[name] for name in used)) | SCRAPED
    grouped_by = {word.strip() for samples in BY.findall(expression) for word in samples.split(",") if word.strip()}
    assert grouped_by | set(LABEL.findall(expression)) <= labels


def test_every_metric_is_on_the_dashboard() -> None:
    dashboard = " ".join(expressions())
    assert {name for name in metric_names() if name not in dashboard} == set()


def test_alerts_have_a_severity_a_summary_and_a_description() -> None:
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    assert {rule["alert"] for rule in rules} >= {"ParleyWorkWaits", "ParleyDeadLetters", "ParleyConflicts"}
    for rule in rules:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"]


# --- measuring and serving


def test_a_timed_block_is_observed_under_its_outcome() -> None:
    def count(outcome: str) -> float:
        labels = {"tool": "timed", "outcome": outcome}
        return metrics.REGISTRY.get_sample_value("parley_tool_call_duration_seconds_count", labels) or 0

    with metrics.timed(metrics.TOOL, "cancelled", tool="timed") as timing:
        timing.outcome = "ok"
    with pytest.raises(RuntimeError), metrics.timed(metrics.TOOL, "cancelled", tool="timed"):
        raise RuntimeError
    assert (count("ok"), count("cancelled")) == (1, 1)


async def test_a_silent_client_does_not_delay_others() -> None:
    port = free_port()
    async with health_server(port, lambda: True):
        _, silent = await asyncio.open_connection("127.0.0.1", port)
        async with http_client() as http:
            assert (await http.get(f"http://127.0.0.1:{port}/healthz", timeout=2)).status_code == 200
        silent.close()
