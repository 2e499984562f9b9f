"""Only `services/gateway/views` renders sessions, checked on the syntax trees of the source files."""

import ast
from pathlib import Path

import pytest

from tests.unit.test_architecture import imports, is_within, name, sources, tree

VIEW_MODELS = (  # of sessions, for clients
    *(f"parley.protocol.{name}" for name in ("execution_plans", "journal", "screen", "server", "views")),
    "services.gateway.rest.flow_models",
)
VIEWS = "services/gateway/views"
MAKE_VIEW_MODELS = {  # outside the views, beside a session: of plan_store's rows, and of what the executor answers
    "services/gateway/rest/plan_tasks.py": {"PlanLine", "PlanList", "PlanPreviews"}
}


def constructed_models(path: Path, *packages: str) -> set[str]:
    """The classes of these packages that the module calls: `Name()`, and `module.Name()` under any alias."""
    imported = [node for node in ast.walk(tree(path)) if isinstance(node, ast.ImportFrom | ast.Import)]
    names = {
        alias.asname or alias.name: f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
        for node in imported
        for alias in node.names
    }
    calls = (ast.unparse(node.func).partition(".") for node in ast.walk(tree(path)) if isinstance(node, ast.Call))
    dotted = (f"{names[first]}{dot}{rest}" for first, dot, rest in calls if first in names)
    return {call.rpartition(".")[2] for call in dotted if call.rpartition(".")[0] in packages}


def test_only_views_make_the_views_of_a_session() -> None:
    """Whoever has a session at hand and needs it for a client asks the views, so that all clients get the same."""
    made = {
        name(path): models
        for path in sources("services/gateway", "cli", "parley")
        if "shared.domain.kernel.session.Session" in imports(path) and not is_within(path, VIEWS)
        if (models := constructed_models(path, *VIEW_MODELS))
    }
    assert made == MAKE_VIEW_MODELS


@pytest.mark.parametrize(
    "source",
    [
        "from parley.protocol.server import Log\nLog(content='')",
        "from parley.protocol.server import Log as Notice\nNotice(content='')",
        "from parley.protocol import server as s\ns.Log(content='')",
        "import parley.protocol.server as s\ns.Log(content='')",
    ],
)
def test_every_way_of_making_a_model_is_detected(tmp_path: Path, source: str) -> None:
    (tmp_path / "module.py").write_text(source)
    assert constructed_models(tmp_path / "module.py", *VIEW_MODELS) == {"Log"}
