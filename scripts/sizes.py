"""Print how large the repository is: lines and files by package, as `wc -l` counts them, of what git knows.

python scripts/sizes.py
"""

import ast
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("services", "shared", "parley", "cli", "packs", "sql", "flows", "rehearsal")
BESIDE = ("bench", "chaos", "scripts", "examples")


def tracked_files() -> list[Path]:
    git = shutil.which("git") or "git"
    command = [git, "ls-files", "-z"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S603  ours
    return [path for name in listing.split("\0") if name and (path := Path(name)) and (ROOT / path).is_file()]


def lines(files: Iterable[Path]) -> int:
    return sum((ROOT / path).read_bytes().count(b"\n") for path in files)


def median_function(files: Iterable[Path]) -> float:
    """The median length of a function, in lines with its signature and docstring."""
    lengths = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in files
        for node in ast.walk(ast.parse((ROOT / path).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return statistics.median(lengths)


def main() -> None:
    files = tracked_files()

    def select(wanted: Callable[[Path], bool]) -> list[Path]:
        return [path for path in files if wanted(path)]

    tests = select(lambda path: path.suffix == ".py" and "tests" in path.parts)
    code = select(lambda path: path.suffix == ".py" and "tests" not in path.parts)
    product = [path for path in code if path.parts[0] in PRODUCT]
    web = select(lambda path: path.parts[:2] == ("web", "src") and path.suffix in (".ts", ".tsx", ".css"))
    rows = {"Python without tests": lines(code)}
    rows |= {f"  {name}": lines(path for path in code if path.parts[0] == name) for name in PRODUCT}
    rows |= {
        f"  {', '.join(BESIDE)}": lines(path for path in code if path.parts[0] in BESIDE),
        "tests": lines(tests),
        "page (ts, css)": lines(web),
        "  css": lines(path for path in web if path.suffix == ".css"),
        "JSON in docs/": lines(select(lambda path: path.parts[0] == "docs" and path.suffix == ".json")),
        "files of the Python product": len(product),
        "decisions": len(select(lambda path: path.parts[:2] == ("docs", "adr") and path.name[0] == "0")),
    }
    for name, size in rows.items():
        sys.stdout.write(f"{name:<36}{size:>8,}\n")
    sys.stdout.write(f"{'median function, lines':<36}{median_function(product):>8g}\n")


if __name__ == "__main__":
    main()
