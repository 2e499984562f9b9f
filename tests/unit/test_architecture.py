"""The dependency rules, as tests over the source's syntax trees: nothing is imported, so nothing runs.

A new module comes under the rules by being there; a new name under `shared/` has to be added to `SHARED` on purpose.
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
    "bus",
    "contracts",
    "domain",
    "environment",
    "flows",
    "library_log",
    "llm",
    "log",
    "log_reading",
    "logging",
    "login",
    "message_limits",
    "plan_checks",
    "plugins",
    "repair",
    "retry",
    "sandbox",
    "services",
    "settings",
    "store",
    "store_api",
    "story",
    "telemetry",
    "templates",
    "testing",
    "watchdog",
    "worker",
}
IMPURE = {
    "asyncio",
    "concurrent",
    "ctypes",
    "glob",
    "http",
    "io",
    "locale",
    "logging",
    "multiprocessing",
    "os",
    "pathlib",
    "platform",
    "queue",
    "random",
    "secrets",
    "select",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
    "urllib",
    "uuid",
}
CLOCK = {"now", "utcnow", "today", "fromtimestamp"}
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint"}
KNOW_NATS = ("shared/bus", "shared/log", "shared/log_reading", "cli/nats_server.py", "bench/overhead", "chaos", "tests")
READ_ENVIRONMENT = ("shared/settings.py", "shared/environment.py")
RUN_FLOWS = ("flows", "services/executor", "scripts/gen_contract.py")  # the last: shapes of replies
LINES, TEST_LINES = 300, 450
LONGER = {  # each on one page: lists, not logic
    "cli/plans.py": 320,
    "parley/events/facts.py": 545,
    "parley/events/values.py": 335,
    "parley/protocol/client.py": 310,
    "scripts/gen_words.py": 310,
    "shared/domain/commands.py": 360,
    "services/plan_store/tables.py": 340,
}


@cache
def sources(*folders: str) -> tuple[Path, ...]:
    """All modules under these folders of the repository; a folder that is not there yet has none."""
    return tuple(sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that this one imports, also inside functions, with relative imports and `from a import b` spelt out.

    `from a import b` counts as both `a` and `a.b`: only running it would tell which of the two is the module.
    """
    return frozenset(dotted for node in ast.walk(tree(path)) for dotted in named(node, path))


def named(node: ast.AST, path: Path) -> set[str]:
    """The modules that this statement imports; none if it is another statement."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if not isinstance(node, ast.ImportFrom):
        return set()
    package = path.relative_to(ROOT).parent.parts if path.is_relative_to(ROOT) else ()
    above = package[: len(package) - node.level + 1] if node.level else ()
    base = [*above, *([node.module] if node.module else [])]
    return {".".join(base), *(".".join([*base, alias.name]) for alias in node.names)} - {""}


def at_once(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when the module is imported: not the bodies of functions, nor what only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        checked_only = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
        if not checked_only and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from at_once(child)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def under(module: str, *packages: str) -> bool:
    """Whether the module is one of these, or inside one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def strays(paths: tuple[Path, ...], *packages: str) -> list[str]:
    """`module imports other`, for all that import from these packages."""
    return [f"{name(path)} imports {one}" for path in paths for one in sorted(imports(path)) if under(one, *packages)]


def foreign(path: Path, *allowed: str) -> list[str]:
    """What the module imports that is neither standard (and pure) nor allowed."""
    standard = sys.stdlib_module_names - IMPURE
    return [
        f"{name(path)} imports {one}"
        for one in sorted(imports(path))
        if not under(one, *allowed) and one.split(".")[0] not in standard
    ]


def calls(path: Path) -> set[str]:
    """The names that are called: `f` of `f()`, and `g` of `x.g()` as `.g`."""
    functions = [node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    plain = {function.id for function in functions if isinstance(function, ast.Name)}
    return plain | {f".{function.attr}" for function in functions if isinstance(function, ast.Attribute)}


# --- the rules


def test_there_is_something_to_look_at() -> None:
    assert {"shared/domain/decide.py", "parley/events/facts.py"} <= {name(path) for path in sources(*CODE)}


def test_services_meet_on_the_bus_only() -> None:
    wrong = []
    for service in sorted(path for path in (ROOT / "services").iterdir() if path.is_dir()):
        mine = tuple(sorted(service.rglob("*.py")))
        others = [f"services.{path.name}" for path in (ROOT / "services").iterdir() if path.name != service.name]
        wrong += strays(mine, *others)
    assert wrong == []


def test_the_domain_is_pure() -> None:
    allowed = ("pydantic", "parley.events", "shared.domain")
    assert [line for path in sources("shared/domain") for line in foreign(path, *allowed, "shared")] == []
    assert [
        f"{name(path)} imports {one}"
        for path in sources("shared/domain")
        for one in sorted(imports(path))
        if under(one, "shared") and one != "shared" and not under(one, *allowed)
    ] == []


def test_events_know_nothing_but_themselves() -> None:
    allowed = ("pydantic", "pydantic_core", "rfc8785", "parley.events")
    assert [line for path in sources("parley/events") for line in foreign(path, *allowed)] == []


def test_neither_asks_the_clock_nor_the_world() -> None:
    asks = IMPURE_CALLS | {f".{one}" for one in CLOCK}
    paths = sources("shared/domain", "parley/events")
    assert [f"{name(path)} calls {one}" for path in paths for one in sorted(calls(path) & asks)] == []


def test_imports_go_round_in_no_circle() -> None:
    modules = sources(*CODE)
    needs = {
        path: {one for node in at_once(tree(path)) for dotted in named(node, path) for one in files(dotted)} - {path}
        for path in modules
    }
    TopologicalSorter(needs).prepare()  # its CycleError names the modules


def test_only_bus_and_log_know_nats() -> None:
    strangers = tuple(path for path in sources(*CODE) if not within(path, *KNOW_NATS))
    assert strays(strangers, "nats", "faststream") == []


def within(path: Path, *places: str) -> bool:
    """Whether the module is one of these files, or lies in one of these packages (or is the module of that name)."""
    here = name(path)
    return any(here in (place, f"{place}.py") or here.startswith(f"{place}/") for place in places)


def test_only_settings_read_the_environment() -> None:
    wrong = []
    for path in sources(*CODE):
        if within(path, *READ_ENVIRONMENT):
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and node.attr in ("environ", "environb", "getenv", "getenvb"):
                wrong.append(f"{name(path)}:{node.lineno} reads os.{node.attr}")
        wrong += [f"{name(path)} imports {one}" for one in imports(path) if one.startswith(("os.environ", "os.getenv"))]
    assert wrong == []


def test_shared_is_a_closed_list() -> None:
    here = {path for path in (ROOT / "shared").iterdir() if path.suffix == ".py" or any(path.rglob("*.py"))}
    assert {path.stem for path in here} - {"__init__"} - SHARED == set()


def test_shared_stands_below_everything() -> None:
    assert strays(sources("shared"), "services", "packs", "sql", "flows", "cli", "tests", "bench") == []


def test_packs_know_what_a_tool_is_and_no_service() -> None:
    """The public package, and what is shared by design: a sandbox, a reader of databases, the repair of arguments.

    And secrets that the operator's environment holds: where they are looked up, and kept out of logs and events.
    """
    libraries = ("httpx2", "pydantic", "pydantic_core", "sqlalchemy")
    secrets = ("shared.environment", "shared.logging")
    allowed = ("packs", "parley", "sql", "shared.repair", "shared.sandbox", *secrets, *libraries)
    strange = {
        f"{name(path)} imports {one}"
        for path in sources("packs")
        for one in imports(path)
        if one != "shared" and not under(one, *allowed) and one.split(".")[0] not in sys.stdlib_module_names
    }
    assert strange == set()
    assert strays(tuple(path for path in sources("packs") if not within(path, "packs/database")), "sql") == []


def test_the_public_package_imports_nothing_of_ours_but_itself() -> None:
    """Who writes a tool, a flow or a client gets the events and messages, and none of what services are made of."""
    public = tuple(path for path in sources("parley") if name(path) != "parley/terminal.py")  # starts the command
    assert [name(path) for path in reached(*public) if not within(path, "parley")] == []


def test_only_the_executor_has_packs() -> None:
    """The other services ask it, and read what it records. Programs that play in the store import it as they like."""
    others = tuple(path for path in sources("services") if not within(path, "services/executor"))
    assert strays(others, "packs", "parley.pack", "parley.tool") == []
    assert strays(sources("services/executor"), "packs.retail") == []


def test_sql_knows_databases_and_nothing_else() -> None:
    """Whoever wants to be sure of what may run reads this package alone."""
    strange = {
        f"{name(path)} imports {one}"
        for path in sources("sql")
        for one in imports(path)
        if not under(one, "sql", "pydantic", "sqlalchemy", "sqlglot", "asyncpg")
        and one.split(".")[0] not in sys.stdlib_module_names
    }
    assert strange == set()


def test_flows_are_run_by_the_executor_alone() -> None:
    others = tuple(path for path in sources(*CODE) if not within(path, *RUN_FLOWS))
    assert strays(others, "flows") == []
    assert strays(sources("flows"), "services", "cli", "tests", "bench") == []


def test_the_rehearsal_model_and_parley_know_only_their_contract() -> None:
    """It is data: neither imports it. Tests, bench, chaos and scripts may play both."""
    parley = ("services", "shared", "parley", "packs", "sql", "flows", "cli")
    assert strays(sources("rehearsal"), *parley, "tests", "bench", "chaos", "scripts") == []
    assert strays(sources(*parley), "rehearsal") == []


def test_services_stand_below_the_programs() -> None:
    assert strays(sources("services"), "cli", "tests", "bench") == []


def test_programs_run_services_and_do_not_import_them() -> None:
    assert strays(sources("cli"), "services", "tests") == []


WORKFLOWS = {path.stem for path in sources("shared/domain/workflows")} - {"__init__"}
PRODUCT = ("services", "shared", "cli", "parley")
SHAPES = {"path": {"plan", "turn", "event"}, "kind": {"plan"}}  # what only a workflow's own files ask about


def test_only_a_workflow_knows_its_name_and_its_plans() -> None:
    """Elsewhere nobody compares with a workflow's name, or asks for the kind or the path of a plan or turn."""
    others = [path for path in sources(*PRODUCT) if path.stem not in WORKFLOWS and "workflows" not in path.parts]
    assert [f"{name(path)}:{line}" for path in others for line in sorted(asks_for_workflow(path))] == []


def asks_for_workflow(path: Path) -> set[int]:
    """The lines on which something depends on a workflow's name, or on a plan's or turn's `kind` or `path`."""
    tests: list[ast.expr] = []
    compared: list[ast.expr] = []
    for node in ast.walk(tree(path)):
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
    named = [one for one in compared if _names_workflow(one)]
    return {one.lineno for one in (*named, *(one for one in (*tests, *compared) if _is_shape(one)))}


def _names_workflow(node: ast.expr) -> bool:
    constants = node.elts if isinstance(node, ast.Tuple | ast.Set | ast.List) else [node]
    return any(isinstance(one, ast.Constant) and one.value in WORKFLOWS for one in constants)


def _is_shape(node: ast.expr) -> bool:
    """`turn.path`, `session.plan.kind`, also behind `not`."""
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
def test_no_way_of_asking_for_a_workflow_is_overlooked(tmp_path: Path, source: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(source)
    assert asks_for_workflow(module)


def test_talking_to_the_gateway_needs_no_nats() -> None:
    """`parley chat` and `parley mcp` start sooner, and where neither broker nor services are installed."""
    talking = reached(*sources("cli/chat"), ROOT / "cli/mcp.py", ROOT / "cli/command.py")
    assert [name(path) for path in talking if within(path, "shared/bus", "shared/log", "packs", "sql", "flows")] == []


def reached(*paths: Path) -> set[Path]:
    """These modules, and all of ours that importing them brings along."""
    found, waiting = set[Path](), list(paths)
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting += {one for dotted in imports(path) for one in files(dotted)} - found
    return found


def files(dotted: str) -> list[Path]:
    """Where a module or package of ours is; none for what lies elsewhere."""
    path = ROOT.joinpath(*dotted.split("."))
    return [one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()]


def test_a_module_is_short_enough_to_read() -> None:
    """One that is not has to be split by what its parts are about."""
    lines = {path: path.read_bytes().count(b"\n") for path in sources(*CODE, "tests")}
    assert [f"{name(path)} has {count} lines" for path, count in lines.items() if count > longest(path)] == []


def longest(path: Path) -> int:
    """How many lines the module may have."""
    return LONGER.get(name(path), TEST_LINES if within(path, "tests", "rehearsal/tests") else LINES)


def test_a_module_says_what_it_is_for() -> None:
    """Except an empty marker: its modules speak for themselves."""
    told = sources("services", "shared", "parley", "packs", "sql", "flows", "rehearsal", "cli")
    silent = [path for path in told if not ast.get_docstring(tree(path))]
    assert [name(path) for path in silent if tree(path).body or path.name != "__init__.py"] == []


# --- the rules' own eyes


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("import nats.aio.client", "nats.aio.client"),
        ("from services.planner import handlers", "services.planner.handlers"),
        ("from services import planner", "services.planner"),
        ("from . import events", "events"),
        ("def f():\n    import os.path", "os.path"),
        ("import a as b, nats", "nats"),
    ],
)
def test_no_way_of_importing_is_overlooked(tmp_path: Path, source: str, seen: str) -> None:
    module = tmp_path / "module.py"
    module.write_text(source)
    assert seen in imports(module)


def test_a_package_is_not_taken_for_one_whose_name_it_begins_with() -> None:
    assert under("shared.log.store", "shared.log")
    assert not under("shared.logging", "shared.log")
    assert within(ROOT / "shared/log.py", "shared/log")
    assert not within(ROOT / "shared/logging.py", "shared/log")
