"""Attempts to get out. Each is made twice: in the sandbox, where the host must not notice, and by a plain Python, where
it must succeed: an attack that would do no harm anyway shows nothing."""

import asyncio
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

from shared.sandbox import Limits, run
from tests.integration.test_sandbox_host import needs_landlock, place, until

__all__ = ["place"]  # a fixture
pytestmark = needs_landlock

LIMITS = Limits(wall=5, cpu=4)
PROJECT = Path(__file__).parents[2]
SHARED_PLACES = ("/dev/shm", "/var/tmp", "/tmp")
COMMON = """
import ctypes, errno, json, os, signal, socket, sys
world = json.load(open("world.json"))
libc = ctypes.CDLL(None, use_errno=True)

def attempt(action, *args):
    "Every way is tried, whatever the others bring."
    try:
        return action(*args)
    except Exception as error:
        print("refused:", type(error).__name__, file=sys.stderr)
"""


class World:
    """A host worth attacking: listeners, a process of the same user, a file and an environment with a secret."""

    def __init__(self, stack: ExitStack, home: Path) -> None:
        self.secret = secrets.token_hex()
        self.mark = secrets.token_hex(8)
        self.home = home
        home.chmod(0o777)
        (home / "secret.txt").write_text(self.secret)
        (home / "secret.txt").chmod(0o666)
        os.utime(home / "secret.txt", (1, 1))
        self.tcp = self._listener(stack, socket.AF_INET, ("127.0.0.1", 0))
        self.unix = self._listener(stack, socket.AF_UNIX, str(home / "socket"))
        (home / "socket").chmod(0o777)
        self.abstract = self._listener(stack, socket.AF_UNIX, f"\0{self.mark}")
        self.udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.datagrams = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        self.udp.bind(("127.0.0.1", 0))
        self.datagrams.bind(str(home / "datagrams"))
        (home / "datagrams").chmod(0o777)
        self.victim = stack.enter_context(self._victim())
        stack.callback(self.victim.kill)
        self._before = self._outside()

    @staticmethod
    def _listener(stack: ExitStack, family: int, address: tuple[str, int] | str) -> socket.socket:
        listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        listener.bind(address)
        listener.listen()
        return listener

    def _victim(self) -> "subprocess.Popen[bytes]":
        waits_for_ever = [sys.executable, "-I", "-S", "-c", "input()"]
        return subprocess.Popen(waits_for_ever, stdin=subprocess.PIPE, env={"SECRET": self.secret})

    def described(self) -> str:
        """What the attacker is told: everything but the secret."""
        return json.dumps(
            {
                "home": str(self.home),
                "project": str(PROJECT),
                "mark": self.mark,
                "tcp": self.tcp.getsockname()[1],
                "udp": self.udp.getsockname()[1],
                "victim": self.victim.pid,
            }
        )

    def _outside(self) -> list[tuple[str, int, float, bytes]]:
        return [
            (path.name, path.lstat().st_mode, path.lstat().st_mtime, path.read_bytes() if path.is_file() else b"")
            for path in sorted(self.home.iterdir())
        ]

    def changed(self) -> bool:
        return self._outside() != self._before

    def reached(self) -> bool:
        heard = False
        for listener in (self.tcp, self.unix, self.abstract):
            listener.setblocking(False)
            with suppress(BlockingIOError):
                listener.accept()[0].close()
                heard = True
        for receiver in (self.udp, self.datagrams):
            receiver.setblocking(False)
            with suppress(BlockingIOError):
                heard = bool(receiver.recv(100)) or heard
        return heard

    def dropped(self) -> list[Path]:
        return [path for place in SHARED_PLACES if (path := Path(place, f"dropped-{self.mark}")).exists()]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
        made = World(stack, home)
        monkeypatch.setenv("PARLEY_TEST_SECRET", made.secret)
        yield made
        for path in made.dropped():
            path.unlink()


class Attack(NamedTuple):
    """harmed: given the world and what the program printed, whether the host noticed."""

    program: str
    harmed: Callable[[World, str], bool]


def prints_secret(world: World, printed: str) -> bool:
    return world.secret in printed


def prints_got_it(_: World, printed: str) -> bool:
    return "got it" in printed


def kills_victim(world: World, _: str) -> bool:
    try:
        return world.victim.wait(0.3) != 0
    except subprocess.TimeoutExpired:
        return False


ATTACKS = {
    "read a file": Attack(
        """
        target = world["home"] + "/secret.txt"
        show = lambda path: print(open(path).read())
        attempt(show, target)
        attempt(os.symlink, target, "soft"); attempt(show, "soft")
        attempt(os.link, target, "hard"); attempt(show, "hard")
        attempt(show, "/proc/self/root" + target)
        attempt(show, "/proc/self/cwd/../../" + target)
        attempt(os.rename, target, "moved"); attempt(show, "moved")
        def from_within(): os.chdir(world["home"]); show("secret.txt")
        attempt(from_within)
        def through_a_handle():
            folder = os.open(world["home"], os.O_PATH)
            print(os.read(os.open("secret.txt", os.O_RDONLY, dir_fd=folder), 99))
        attempt(through_a_handle)
        """,
        prints_secret,
    ),
    "read secrets of environments": Attack(
        """
        print(dict(os.environ))
        show = lambda path: print(open(path, "rb").read())
        for process in ("self", os.getppid(), 1, world["victim"]):
            attempt(show, f"/proc/{process}/environ")
        """,
        prints_secret,
    ),
    "list the machine": Attack(
        """
        for path in ("/", "/home", "/tmp", "/etc", "/proc", "/sys", world["home"], world["project"], ".."):
            if attempt(os.listdir, path): print("got it")
        """,
        prints_got_it,
    ),
    "read the project": Attack(
        """
        def read(path):
            if open(path).read(): print("got it")
        attempt(read, world["project"] + "/pyproject.toml")
        attempt(read, world["project"] + "/shared/sandbox/jail/launcher.py")
        """,
        prints_got_it,
    ),
    "reach the network": Attack(
        """
        def send(family, kind, address):
            with socket.socket(family, kind) as s: s.settimeout(1); s.connect(address); s.send(b"x")
        attempt(send, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", world["tcp"]))
        attempt(send, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", world["udp"]))
        attempt(send, socket.AF_UNIX, socket.SOCK_STREAM, world["home"] + "/socket")
        attempt(send, socket.AF_UNIX, socket.SOCK_STREAM, chr(0) + world["mark"])
        """,
        lambda world, _: world.reached(),
    ),
    "reach a socket through a pair": Attack(
        """
        for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
            def send():
                one, two = socket.socketpair(socket.AF_UNIX, kind)
                attempt(one.sendto, b"x", world["home"] + "/datagrams")
                attempt(one.sendmsg, [b"x"], [], 0, world["home"] + "/datagrams")
                attempt(one.connect, world["home"] + "/datagrams")
            attempt(send)
        """,
        lambda world, _: world.reached(),
    ),
    "start processes": Attack(
        """
        import multiprocessing, subprocess
        def fork():
            if os.fork() == 0: print("got it", flush=True); os._exit(0)
        def clone(*flags):
            child = libc.syscall(220 if os.uname().machine == "aarch64" else 56, *flags, 0, 0, 0, 0)
            if child == 0: print("got it", flush=True); os._exit(0)
        attempt(fork)
        attempt(clone, 17)
        attempt(clone, 0x10000000 | 17)
        attempt(subprocess.run, ["/bin/echo", "got it"])
        attempt(os.posix_spawn, "/bin/echo", ["echo", "got it"], {})
        attempt(os.system, "echo got it")
        attempt(os.waitpid, -1, 0)
        """,
        prints_got_it,
    ),
    "become another program": Attack(
        """
        attempt(os.execv, "/bin/sh", ["sh", "-c", "echo got it"])
        attempt(os.execv, "/proc/self/exe", ["python", "-c", "print('got it')"])
        """,
        prints_got_it,
    ),
    "run a file of its own": Attack(
        """
        open("own", "w").write("#!/bin/sh\\necho got it\\n")
        attempt(os.chmod, "own", 0o755)
        attempt(os.execv, "own", ["own"])
        """,
        prints_got_it,
    ),
    "kill another process": Attack(
        """
        victim = world["victim"]
        attempt(os.kill, victim, signal.SIGKILL)
        attempt(lambda: signal.pidfd_send_signal(os.pidfd_open(victim), signal.SIGKILL))
        attempt(libc.syscall, 131 if os.uname().machine == "aarch64" else 234, victim, victim, 9)
        """,
        kills_victim,
    ),
    "have the kernel signal another process": Attack(
        """
        import fcntl
        def owner():
            read, write = os.pipe()
            fcntl.fcntl(read, fcntl.F_SETOWN, world["victim"])
            fcntl.fcntl(read, 10, signal.SIGKILL)  # F_SETSIG
            fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC)
            os.write(write, b"x")
        attempt(owner)
        """,
        kills_victim,
    ),
    "limit another process": Attack(
        """
        import resource
        def limit(what, value):
            resource.prlimit(world["victim"], what, (value, value)); print("got it")
        attempt(limit, resource.RLIMIT_NOFILE, 3)
        """,
        prints_got_it,
    ),
    "change files outside": Attack(
        """
        target = world["home"] + "/secret.txt"
        attempt(lambda: open(world["home"] + "/new.txt", "w").write("x"))
        attempt(lambda: open(target, "a").write("x"))
        attempt(os.truncate, target, 1)
        attempt(os.symlink, target, "soft"); attempt(lambda: open("soft", "a").write("x"))
        attempt(os.utime, target, (5, 5))
        attempt(os.chmod, target, 0o600)
        attempt(os.chmod, world["home"], 0o700)
        attempt(os.chown, target, os.getuid(), os.getgid())
        attempt(os.setxattr, target, "user.x", b"x")
        attempt(os.mkdir, world["home"] + "/folder")
        attempt(os.symlink, "x", world["home"] + "/link")
        attempt(os.mkfifo, world["home"] + "/fifo")
        attempt(os.rename, target, world["home"] + "/renamed")
        attempt(os.unlink, target)
        """,
        lambda world, _: world.changed(),
    ),
    "leave something in shared places": Attack(
        """
        for place in ("/tmp", "/var/tmp", "/dev/shm"):
            attempt(lambda: open(f"{place}/dropped-{world['mark']}", "w").write("x"))
        """,
        lambda world, _: bool(world.dropped()),
    ),
    "leave the group": Attack(
        """
        def leave(call, *args): call(*args); print("got it")
        attempt(leave, os.setpgid, 0, os.getpgid(os.getppid()))
        attempt(leave, os.setsid)
        """,
        prints_got_it,
    ),
    "use the kernel's back doors": Attack(
        """
        arm = os.uname().machine == "aarch64"
        calls = {  # harmless arguments: what counts is whether the call is answered at all
            "memfd_create": (279 if arm else 319, b"x", 0),
            "io_uring_setup": (425, 0, 0),
            "bpf": (280 if arm else 321, 0, 0, 0),
            "userfaultfd": (282 if arm else 323, 1),
            "perf_event_open": (241 if arm else 298, 0, 0, 0, 0, 0),
            "keyctl": (219 if arm else 250, 0, -2, 0),
            "ptrace": (117 if arm else 101, 99, 0, 0, 0),
            "mount": (40 if arm else 165, 0, 0, 0, 0, 0),
            "unshare": (97 if arm else 272, 0),
            "process_vm_readv": (270 if arm else 310, os.getppid(), 0, 0, 0, 0, 0),
            "shmget": (194 if arm else 29, 0, 4096, 0o600),
            "inotify_init1": (26 if arm else 294, 0),
            "personality": (92 if arm else 135, 0xFFFFFFFF),
            "open_by_handle_at": (265 if arm else 304, -1, 0, 0),
            "pidfd_open": (434, os.getpid(), 0),
            "landlock_create_ruleset": (444, 0, 0, 1),
            "chroot": (51 if arm else 161, 0),
        }
        for name, (number, *args) in calls.items():
            ctypes.set_errno(0)
            if libc.syscall(number, *args) >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
                print("got it", name)
        """,
        prints_got_it,
    ),
    "loosen what binds it": Attack(
        """
        import resource
        for what in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
            soft, hard = resource.getrlimit(what)
            if hard == resource.RLIM_INFINITY or hard > 1 << 40: print("got it", what)
            elif attempt(lambda: resource.setrlimit(what, (hard + 1, hard + 1)) or True): print("got it", what)
        if libc.prctl(1, 0, 0, 0, 0) == 0: print("got it: survives its supervisor")
        """,
        prints_got_it,
    ),
    "load what is installed": Attack(
        """
        import site
        sys.path += [world["project"], *site.getsitepackages()]
        def load(): import pydantic; print("got it")
        attempt(load)
        """,
        prints_got_it,
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
async def test_the_host_does_not_notice(world: World, name: str) -> None:
    attack = ATTACKS[name]
    files = {"program.py": dedent(COMMON) + dedent(attack.program), "world.json": world.described()}
    outcome = await run(files, limits=LIMITS)
    assert not attack.harmed(world, outcome.stdout), outcome.stdout
    assert world.victim.poll() is None
    assert not world.changed()
    assert not world.reached()
    assert not world.dropped()
    assert outcome.ended == "exited", outcome
    assert outcome.exit_code == 0, outcome.stderr  # the attempts were made, not stopped by an accident


@pytest.mark.parametrize("name", ATTACKS)
def test_without_the_sandbox_the_host_does_notice(world: World, tmp_path: Path, name: str) -> None:
    attack = ATTACKS[name]
    (tmp_path / "program.py").write_text(dedent(COMMON) + dedent(attack.program))
    (tmp_path / "world.json").write_text(world.described())
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False
    )
    assert attack.harmed(world, done.stdout), done.stderr


async def test_open_descriptors_are_not_inherited(world: World) -> None:
    program = """
        import os
        for number in range(3, 4000):
            try:
                os.fstat(number)
            except OSError:
                continue
            print("open:", number)
        """
    with (world.home / "secret.txt").open() as inherited:
        os.set_inheritable(inherited.fileno(), True)
        outcome = await run({"program.py": dedent(program)})
    assert (outcome.stdout, outcome.stderr) == ("", "")


async def test_its_memory_holds_nothing_of_the_host_s_environment(world: World) -> None:
    program = """
        import ctypes
        environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        address = ctypes.cast(environ, ctypes.POINTER(ctypes.c_void_p))[0]
        print(ctypes.string_at(address & ~0xFFF, 0x1000))
        """
    outcome = await run({"program.py": dedent(program)})
    assert outcome.exit_code == 0, outcome.stderr
    assert "LANG=C.UTF-8" in outcome.stdout
    assert world.secret not in outcome.stdout


async def test_one_program_cannot_see_another(place: Path) -> None:
    stays = "import time; open('ready', 'w').write('mine'); time.sleep(60)"
    looks = "import sys, os; print(open(sys.argv[1]).read())"
    other = asyncio.create_task(run({"program.py": stays}))
    ready = await until(lambda: next(place.glob("*/ready"), None))
    outcome = await run({"program.py": looks}, args=("program.py", str(ready)))
    other.cancel()
    await asyncio.wait([other])
    assert outcome.stdout == ""
    assert "PermissionError" in outcome.stderr
