"""The dependency rules, checked on the syntax trees of the source files without importing them.

The rules cover new modules automatically. A new module in `shared/` has to be added to `SHARED`.
"""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = ("services", "shared", "parley", "packs", "sql", "flows", "rehearsal", "cli", "bench", "chaos", "scripts")
SHARED = {
    *("bus", "contracts", "documents", "domain", "environment", "flows", "journal", "llm", "log", "log_reading"),
    *("logging", "login", "message_limits", "plan_checks", "plugins", "repair", "retry", "sandbox", "services"),
    *("settings", "store", "store_api", "story", "telemetry", "text", "template_log", "templates", "testing"),
    *("time_zones", "unavailable", "watchdog", "worker"),
}
IMPURE = {
    *("asyncio", "concurrent", "ctypes", "glob", "http", "io", "locale", "logging"),
    *("multiprocessing", "os", "pathlib", "platform", "queue", "random", "secrets", "select"),
    *("shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile"),
    *("threading", "time", "urllib", "uuid"),
}
CLOCK = {"now", "utcnow", "today", "fromtimestamp"}
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}
KNOW_NATS = (
    "shared/bus",
    "shared/log",
    "shared/log_reading",
    "cli/operate/nats_server.py",
    "bench/overhead",
    "chaos",
    "tests",
)
READ_ENVIRONMENT = ("shared/settings.py", "shared/environment.py")
RUN_FLOWS = ("flows", "services/executor", "scripts/gen_contract.py")  # the last reads the shapes of replies
LINES, TEST_LINES = 300, 450
LONGER = {  # mostly lists, such as events with a description of each field
    "cli/operate/diagnosis.py": 355,
    "cli/operate/doctor.py": 410,
    "cli/main.py": 350,
    "parley/events/facts.py": 920,
    "parley/events/values.py": 500,
    "parley/protocol/client.py": 360,
    "parley/protocol/screen.py": 340,
    "parley/protocol/server.py": 330,
    "services/gateway/access/quota.py": 305,
    "services/gateway/views/protocol1.py": 305,
    "shared/domain/kernel/commands.py": 420,
    "services/plan_store/database.py": 310,
    "services/plan_store/tables.py": 345,
}


@cache
def sources(*folders: str) -> tuple[Path, ...]:
    """All modules under these folders of the repository. Missing folders are ignored."""
    return tuple(sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of the module's tree."""
    return tuple(ast.walk(tree(path)))


@cache
def imports(path: Path) -> frozenset[str]:
    """The modules that this one imports, also inside functions; relative imports are resolved.

    `from a import b` counts as both `a` and `a.b`, since `b` may be a module or a name in `a`.
    """
    return frozenset(dotted for node in nodes(path) for dotted in imported_modules(node, path))


def imported_modules(node: ast.AST, path: Path) -> set[str]:
    """The modules that this statement imports; empty for other statements."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if not isinstance(node, ast.ImportFrom):
        return set()
    package = path.relative_to(ROOT).parent.parts if path.is_relative_to(ROOT) else ()
    above = package[: len(package) - node.level + 1] if node.level else ()
    base = [*above, *([node.module] if node.module else [])]
    return {".".join(base), *(".".join([*base, alias.name]) for alias in node.names)} - {""}


def import_time_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the module is imported: no function bodies, no `TYPE_CHECKING` blocks."""
    for child in ast.iter_child_nodes(node):
        checked_only = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        if not checked_only and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from import_time_nodes(child)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_under(module: str, *packages: str) -> bool:
    """Whether the module is one of these, or inside one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def forbidden_imports(paths: tuple[Path, ...], *packages: str) -> list[str]:
    """`module imports other` for each import from these packages."""
    return [
        f"{name(path)} imports {module}"
        for path in paths
        for module in sorted(imports(path))
        if is_under(module, *packages)
    ]


def disallowed_imports(path: Path, *allowed: str) -> list[str]:
    """The module's imports that are neither allowed nor pure standard library."""
    standard = sys.stdlib_module_names - IMPURE
    return [
        f"{name(path)} imports {module}"
        for module in sorted(imports(path))
        if not is_under(module, *allowed) and module.split(".")[0] not in standard
    ]


def calls(path: Path) -> set[str]:
    """The names of called functions: `f` for `f()`, `.g` for `x.g()`."""
    functions = [node.func for node in nodes(path) if isinstance(node, ast.Call)]
    plain = {function.id for function in functions if isinstance(function, ast.Name)}
    return plain | {f".{function.attr}" for function in functions if isinstance(function, ast.Attribute)}


# --- the rules


def test_the_checks_find_modules() -> None:
    assert {"shared/domain/rules/decide.py", "parley/events/facts.py"} <= {name(path) for path in sources(*CODE)}


def test_services_do_not_import_each_other() -> None:
    wrong = []
    for service in sorted(path for path in (ROOT / "services").iterdir() if path.is_dir()):
        mine = tuple(sorted(service.rglob("*.py")))
        others = [f"services.{path.name}" for path in (ROOT / "services").iterdir() if path.name != service.name]
        wrong += forbidden_imports(mine, *others)
    assert wrong == []


def test_no_room_of_the_domain_has_more_than_twelve_files() -> None:
    assert [path.name for path in (ROOT / "shared/domain").glob("*.py")] == ["__init__.py"]
    rooms = [list(room.glob("[!_]*.py")) for room in (ROOT / "shared/domain").iterdir() if room.is_dir()]
    assert len(rooms) > 1
    assert max(map(len, rooms)) <= 12


def test_the_domain_is_pure() -> None:
    allowed = ("pydantic", "parley.events", "shared.domain")
    lines = [line for path in sources("shared/domain") for line in disallowed_imports(path, *allowed)]
    assert [line for line in lines if not line.endswith(" imports shared")] == []


def test_the_journal_depends_on_the_event_alone() -> None:
    """It never sees a session, so whoever reads the log words an event as the gateway does."""
    allowed = ("pydantic", "pydantic_core", "parley.events", "parley.protocol", "shared.journal")
    domain = tuple(
        f"shared.domain.{module}" for module in ("kernel.actors", "kernel.wording", "plan.text", "transcript.dialogue")
    )
    assert [line for path in sources("shared/journal") for line in disallowed_imports(path, *allowed, *domain)] == []


def test_events_import_only_the_public_package() -> None:
    allowed = ("pydantic", "pydantic_core", "rfc8785", "parley.events")
    assert [line for path in sources("parley/events") for line in disallowed_imports(path, *allowed)] == []


def test_domain_events_and_journal_use_no_clock_and_no_io() -> None:
    impure = IMPURE_CALLS | {f".{call}" for call in CLOCK}
    paths = sources("shared/domain", "shared/journal", "parley/events")
    assert [f"{name(path)} calls {call}" for path in paths for call in sorted(calls(path) & impure)] == []


def test_there_are_no_import_cycles() -> None:
    modules = sources(*CODE)
    needs = {
        path: {
            file
            for node in import_time_nodes(tree(path))
            for dotted in imported_modules(node, path)
            for file in files(dotted)
        }
        - {path}
        for path in modules
    }
    TopologicalSorter(needs).prepare()  # its CycleError names the modules


def test_only_bus_and_log_import_nats() -> None:
    others = tuple(path for path in sources(*CODE) if not is_within(path, *KNOW_NATS))
    assert forbidden_imports(others, "nats", "faststream") == []


def is_within(path: Path, *places: str) -> bool:
    """Whether the module is one of these files, or belongs to one of these packages."""
    here = name(path)
    return any(here in (place, f"{place}.py") or here.startswith(f"{place}/") for place in places)


def test_only_settings_read_the_environment() -> None:
    wrong = []
    for path in sources(*CODE):
        if is_within(path, *READ_ENVIRONMENT):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv", "getenvb"):
                wrong.append(f"{name(path)}:{node.lineno} reads os.{node.attr}")
        wrong += [
            f"{name(path)} imports {module}"
            for module in imports(path)
            if module.startswith(("os.environ", "os.getenv"))
        ]
    assert wrong == []


def test_shared_is_a_closed_list() -> None:
    here = {path for path in (ROOT / "shared").iterdir() if path.suffix == ".py" or any(path.rglob("*.py"))}
    assert {path.stem for path in here} - {"__init__"} - SHARED == set()


def test_shared_imports_no_service_pack_or_program() -> None:
    assert forbidden_imports(sources("shared"), "services", "packs", "sql", "flows", "cli", "tests", "bench") == []


def test_packs_import_the_public_package_and_no_service() -> None:
    """Packs may also import the sandbox, the database reader, argument repair, and the modules that handle secrets.

    `shared.environment` looks secrets up; `shared.logging` keeps them out of logs and events.
    """
    libraries = ("httpx2", "pydantic", "pydantic_core", "sqlalchemy")
    secrets = ("shared.environment", "shared.logging")
    allowed = ("packs", "parley", "sql", "shared.repair", "shared.sandbox", *secrets, *libraries)
    packs = tuple(path for path in sources("packs") if not path.name.startswith("test_"))
    forbidden = {
        f"{name(path)} imports {module}"
        for path in packs
        for module in imports(path)
        if module != "shared" and not is_under(module, *allowed) and module.split(".")[0] not in sys.stdlib_module_names
    }
    assert forbidden == set()
    assert forbidden_imports(tuple(path for path in packs if not is_within(path, "packs/database")), "sql") == []


def test_the_public_package_imports_only_itself() -> None:
    """So authors of tools, flows and clients depend on events and messages, not on internals of the services."""
    public = tuple(path for path in sources("parley") if name(path) != "parley/terminal.py")  # starts the command
    assert [name(path) for path in transitive_imports(*public) if not is_within(path, "parley")] == []


def test_only_the_executor_imports_packs() -> None:
    """Other services send requests to the executor. Programs outside `services/` may import the sample pack."""
    others = tuple(path for path in sources("services") if not is_within(path, "services/executor"))
    assert forbidden_imports(others, "packs", "parley.pack", "parley.tool") == []
    assert forbidden_imports(sources("services/executor"), "packs.retail") == []


def test_sql_imports_no_other_package_of_this_repository() -> None:
    """So a security reviewer of the SQL checks needs to read only this package."""
    forbidden = {
        f"{name(path)} imports {module}"
        for path in sources("sql")
        for module in imports(path)
        if not is_under(module, "sql", "pydantic", "sqlalchemy", "sqlglot", "asyncpg")
        and module.split(".")[0] not in sys.stdlib_module_names
    }
    assert forbidden == set()


def test_only_the_executor_imports_flows() -> None:
    others = tuple(path for path in sources(*CODE) if not is_within(path, *RUN_FLOWS))
    assert forbidden_imports(others, "flows") == []
    assert forbidden_imports(sources("flows"), "services", "cli", "tests", "bench") == []


def test_the_rehearsal_model_and_parley_do_not_import_each_other() -> None:
    """They share only the contract, a JSON file. Tests, bench, chaos and scripts may import both."""
    parley = ("services", "shared", "parley", "packs", "sql", "flows", "cli")
    assert forbidden_imports(sources("rehearsal"), *parley, "tests", "bench", "chaos", "scripts") == []
    assert forbidden_imports(sources(*parley), "rehearsal") == []


def test_services_do_not_import_programs() -> None:
    assert forbidden_imports(sources("services"), "cli", "tests", "bench") == []


def test_programs_do_not_import_services() -> None:
    assert forbidden_imports(sources("cli"), "services", "tests") == []


PHASES = {"phases", "conditions", "turn_conditions"}  # of all workflows
WORKFLOWS = {path.stem for path in sources("shared/domain/workflows")} - {"__init__", *PHASES}
PRODUCT = ("services", "shared", "cli", "parley")
SHAPES = {"path": {"plan", "turn", "event"}, "kind": {"plan"}}  # only a workflow's own modules may test these


def test_only_workflow_modules_branch_on_the_workflow() -> None:
    """Other modules do not compare workflow names, or test the kind or the path of a plan or turn."""
    others = [path for path in sources(*PRODUCT) if path.stem not in WORKFLOWS and "workflows" not in path.parts]
    assert [f"{name(path)}:{line}" for path in others for line in sorted(workflow_branches(path))] == []


def workflow_branches(path: Path) -> set[int]:
    """The lines that depend on a workflow's name, or on the `kind` or `path` of a plan or turn."""
    tests: list[ast.expr] = []
    compared: list[ast.expr] = []
    for node in nodes(path):
        match node:
            case ast.If() | ast.IfExp() | ast.While():
                tests.append(node.test)
            case ast.BoolOp():
                tests += node.values
            case ast.comprehension():
                tests += node.ifs
            case ast.Match():
                tests.append(node.subject)
            case ast.MatchValue():
                compared.append(node.value)
            case ast.Compare():
                compared += [node.left, *node.comparators]
            case _:
                pass
    named = (node for node in compared if _names_workflow(node))
    return {node.lineno for node in (*named, *filter(_is_shape, (*tests, *compared)))}


def _names_workflow(node: ast.expr) -> bool:
    constants = node.elts if isinstance(node, ast.Tuple | ast.Set | ast.List) else [node]
    return any(isinstance(item, ast.Constant) and item.value in WORKFLOWS for item in constants)


def _is_shape(node: ast.expr) -> bool:
    """Whether it is an attribute in `SHAPES`, such as `turn.path` or `session.plan.kind`, also negated."""
    if isinstance(node, ast.UnaryOp):
        return _is_shape(node.operand)
    if not isinstance(node, ast.Attribute):
        return False
    of = node.value
    owner = of.attr if isinstance(of, ast.Attribute) else of.id if isinstance(of, ast.Name) else ""
    return owner in SHAPES.get(node.attr, ())


@pytest.mark.parametrize(
    "source",
    [
        'if session.workflow == "flow":\n    pass',
        'if workflow not in ("agentflow", "other"):\n    pass',
        "x = 1 if turn.path else 2",
        'if session.plan.kind != "text" and x:\n    pass',
        "y = [one for one in many if not one.turn.path]",
        "match plan.kind:\n    case _:\n        pass",
        'match 1:\n    case "flow":\n        pass',
        "z = plan and plan.path",
    ],
)
def test_every_way_of_branching_on_the_workflow_is_detected(tmp_path: Path, source: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(source)
    assert workflow_branches(module)


def test_gateway_clients_do_not_import_nats() -> None:
    """So `parley chat` and `parley mcp` start faster, and without broker or services installed."""
    imported = transitive_imports(*sources("cli/chat"), ROOT / "cli/mcp/server.py", ROOT / "cli/command.py")
    assert [
        name(path) for path in imported if is_within(path, "shared/bus", "shared/log", "packs", "sql", "flows")
    ] == []


def transitive_imports(*paths: Path) -> set[Path]:
    """These modules and all of this repository that they import, directly or indirectly."""
    reached, waiting = set[Path](), list(paths)
    while waiting:
        path = waiting.pop()
        reached.add(path)
        waiting += {file for dotted in imports(path) for file in files(dotted)} - reached
    return reached


@cache
def files(dotted: str) -> list[Path]:
    """The files of a module or package of this repository; empty for others."""
    path = ROOT.joinpath(*dotted.split("."))
    return [file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()]


def test_modules_respect_the_line_limit() -> None:
    """Split longer modules by topic."""
    lines = {path: path.read_bytes().count(b"\n") for path in sources(*CODE, "tests")}
    assert [f"{name(path)} has {count} lines" for path, count in lines.items() if count > line_limit(path)] == []


def line_limit(path: Path) -> int:
    return LONGER.get(name(path), TEST_LINES if is_within(path, "tests", "rehearsal/tests") else LINES)


def test_every_module_has_a_docstring() -> None:
    """An empty `__init__.py` needs none."""
    modules = sources("services", "shared", "parley", "packs", "sql", "flows", "rehearsal", "cli")
    silent = [path for path in modules if not ast.get_docstring(tree(path))]
    assert [name(path) for path in silent if tree(path).body or path.name != "__init__.py"] == []


# --- the helpers


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import nats.aio.client", "nats.aio.client"),
        ("from services.planner import handlers", "services.planner.handlers"),
        ("from services import planner", "services.planner"),
        ("from . import events", "events"),
        ("def f():\n    import os.path", "os.path"),
        ("import a as b, nats", "nats"),
    ],
)
def test_every_way_of_importing_is_detected(tmp_path: Path, source: str, expected: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(source)
    assert expected in imports(module)


def test_packages_with_a_common_prefix_are_distinguished() -> None:
    assert is_under("shared.log.store", "shared.log")
    assert not is_under("shared.logging", "shared.log")
    assert is_within(ROOT / "shared/log.py", "shared/log")
    assert not is_within(ROOT / "shared/logging.py", "shared/log")
