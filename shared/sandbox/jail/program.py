"""The user's program, run in this interpreter as `python <arguments>` would run it."""

import builtins
import os
import site
import sys
from types import ModuleType, TracebackType

_LAUNCHER_FILES = frozenset({"<string>", __file__, os.path.join(os.path.dirname(__file__), "launcher.py")})  # noqa: PTH118, PTH120


def prepare(scratch: str) -> None:
    """Make this interpreter look newly started."""
    site.setquit()  # exit() and quit(), which -S leaves out
    site.setcopyright()
    site.sethelper()
    sys.path.insert(0, scratch)
    for name in [name for name in sys.modules if name == "jail" or name.startswith("jail.")]:
        del sys.modules[name]
    sys.dont_write_bytecode = True
    sys.executable = ""  # nothing can be executed, and the program need not know the host's path
    sys.orig_argv = ["python"]
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # so that a killed program's lines are not lost
    sys.excepthook = _report


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print the usual traceback without the launcher's frames."""
    while trace is not None and trace.tb_frame.f_code.co_filename in _LAUNCHER_FILES:
        trace = trace.tb_next
    sys.__excepthook__(kind, error.with_traceback(trace), trace)


def run(arguments: list[str], *, scratch: str) -> None:
    """Run the program; return or raise as it does."""
    if arguments[0] == "-m":
        import runpy  # noqa: PLC0415 - 5 ms, not needed for a script

        sys.argv = ["-m", *arguments[2:]]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = list(arguments)
    main = ModuleType("__main__")
    main.__file__ = os.path.join(scratch, arguments[0])  # noqa: PTH118 - pathlib costs 10 ms at every start
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    with open(arguments[0], "rb") as source:  # noqa: PTH123 - as above
        code = compile(source.read(), arguments[0], "exec", dont_inherit=True)
    exec(code, main.__dict__)  # noqa: S102 - the sandbox contains it
