"""The targets of sandbox attacks on this host, and the checks that show whether an attack succeeded."""

import ctypes
import json
import os
import secrets
import site
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from resource import RLIMIT_NOFILE, prlimit

import shared.sandbox
from tests.support.attacks.objects import Key, Queue, Segment
from tests.support.timeouts import WAIT_TIMEOUT

PROJECT = Path(shared.sandbox.__file__).parents[2]
_SHARED_PLACES = ("/dev/shm", "/var/tmp", "/tmp")
_PIECE = b"untouched "


class World(ExitStack):
    """Listeners, a process of the same user, files, shared memory, a queue, a key and a terminal.

    Each holds a secret or shows when it is changed. Inside the context, temporary folders are created in `runs`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.secret = secrets.token_hex()
        self.mark = secrets.token_hex(8)

    def __enter__(self) -> "World":
        super().__enter__()
        self.home, self.runs = (Path(self.enter_context(tempfile.TemporaryDirectory())) for _ in range(2))
        self.home.chmod(0o777)
        self.runs.chmod(0o711)
        self.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = os.fspath(self.runs)
        os.environ["PARLEY_TEST_SECRET"] = self.secret
        self.callback(os.environ.pop, "PARLEY_TEST_SECRET")
        self._files()
        self._sockets()
        self.segment, self.queue, self.key = Segment(self.secret), Queue(self.mark), Key(self.mark, self.secret)
        for object_ in (self.segment, self.queue, self.key):
            self.callback(object_.close)
        self.terminal, self._slave = os.openpty()
        os.set_blocking(self.terminal, False)
        Path(os.ttyname(self._slave)).chmod(0o666)
        for handle in (self.terminal, self._slave):
            self.callback(os.close, handle)
        self.victim = self._start_victim()
        self._files_before = self._file_states()
        self._victim_before = self._victim_state()
        return self

    def _files(self) -> None:
        secret = self.home / "secret.txt"
        secret.write_text(self.secret)
        secret.chmod(0o666)
        os.utime(secret, (1, 1))
        self.shared = Path("/dev/shm", f"canary-{self.mark}")
        self.descriptor, self.canary = (self._unlinked_file(text) for text in (self.secret.encode(), _PIECE * 8))
        os.set_inheritable(self.canary, True)
        with suppress(OSError):  # a container may have no /dev/shm
            self.shared.write_text(self.secret)
            self.shared.chmod(0o666)
            self.callback(self.shared.unlink, missing_ok=True)

    def _unlinked_file(self, text: bytes) -> int:
        handle, path = tempfile.mkstemp(dir=self.home)
        self.callback(os.close, handle)
        Path(path).unlink()
        os.write(handle, text)
        return handle

    def _sockets(self) -> None:
        unix, datagrams = os.fspath(self.home / "socket"), os.fspath(self.home / "datagrams")
        self._listeners = [
            self._socket(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            self._socket(socket.AF_UNIX, socket.SOCK_STREAM, unix),
            self._socket(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.mark}"),
        ]
        for listener in self._listeners:
            listener.listen()
        self._receivers = [
            self._socket(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            self._socket(socket.AF_UNIX, socket.SOCK_DGRAM, datagrams),
        ]
        with suppress(OSError):
            self._receivers.append(self._socket(socket.AF_NETLINK, socket.SOCK_RAW, (0, 0), 2))
        for path in (unix, datagrams):
            Path(path).chmod(0o777)

    def _socket(self, family: int, kind: int, address: tuple[str | int, int] | str, protocol: int = 0) -> socket.socket:
        bound = self.enter_context(socket.socket(family, kind, protocol))
        bound.bind(address)
        bound.setblocking(False)
        return bound

    def _start_victim(self) -> "subprocess.Popen[bytes]":
        waits_for_ever = [sys.executable, "-I", "-S", "-c", "print(flush=True); input()"]
        victim = subprocess.Popen(
            waits_for_ever,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"SECRET": self.secret},
            start_new_session=True,
        )
        self.enter_context(victim)
        self.callback(victim.kill)
        assert victim.stdout
        victim.stdout.readline()  # until it runs
        return victim

    def described(self) -> str:
        """What the attacker gets as JSON: everything but the secret."""
        fields = Path(f"/proc/{self.victim.pid}/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[47]), int(fields[48])  # of its environment in memory
        return json.dumps(
            {
                "home": str(self.home),
                "project": str(PROJECT),
                "packages": site.getsitepackages(),
                "mark": self.mark,
                "tcp": self._listeners[0].getsockname()[1],
                "udp": self._receivers[0].getsockname()[1],
                "netlink": self._receivers[-1].getsockname()[0] if len(self._receivers) == 3 else 0,
                "victim": self.victim.pid,
                "memory": [start, end - start],
                "descriptor": self.descriptor,
                "canary": os.fstat(self.canary).st_ino,
                "segment": self.segment.number,
                "key": self.key.number,
                "terminal": os.ttyname(self._slave),
            }
        )

    def signs(self, printed: str) -> set[str]:
        """The signs of an attack that printed this. Call once: reading sockets, queue and terminal empties them."""
        checks = {
            "the secret was read": self.secret in printed,
            "it says that it got through": "got it" in printed,
            "files were changed": self._file_states() != self._files_before,
            "a descriptor was used": os.pread(self.canary, 80, 0) != _PIECE * 8,
            "somebody called": self._was_contacted(),
            "shared memory was changed": self.segment.changed() or self._shared_changed(),
            "a message came": self.queue.has_message(),
            "the terminal was written to": self._terminal_changed(),
            "another process was harmed": not self._victim_is_unharmed(),
            "something was left behind": bool(self.dropped()) or any(self.runs.iterdir()),
            "it is still there": bool(self.survivors()),
        }
        return {sign for sign, is_seen in checks.items() if is_seen}

    def survivors(self) -> list[int]:
        """Pids of the attacker and of the processes that it forked: all have its command line."""
        pids = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if self.mark.encode() in (process / "cmdline").read_bytes():
                    pids.append(int(process.name))
        return pids

    def dropped(self) -> list[Path]:
        return [path for place in _SHARED_PLACES if (path := Path(place, f"dropped-{self.mark}")).exists()]

    def _file_states(self) -> list[tuple[str, int, float, bytes, list[str]]]:
        return [
            (
                path.name,
                path.lstat().st_mode,
                path.lstat().st_mtime,
                path.read_bytes() if path.is_file() else b"",
                os.listxattr(path, follow_symlinks=False),
            )
            for path in [self.home, *sorted(self.home.iterdir())]
        ]

    def _was_contacted(self) -> bool:
        contacted = False
        for listener in self._listeners:
            with suppress(BlockingIOError):
                listener.accept()[0].close()
                contacted = True
        for receiver in self._receivers:
            with suppress(BlockingIOError):
                contacted = bool(receiver.recv(100)) or contacted
        return contacted

    def _shared_changed(self) -> bool:
        with suppress(FileNotFoundError):
            return self.shared.read_text() != self.secret
        return False

    def _terminal_changed(self) -> bool:
        with suppress(BlockingIOError):
            return bool(os.read(self.terminal, 100))
        return False

    def _victim_state(self) -> tuple[object, ...]:
        pid = self.victim.pid
        process = Path(f"/proc/{pid}")
        return (
            os.getpriority(os.PRIO_PROCESS, pid),
            os.sched_getscheduler(pid),
            os.sched_getaffinity(pid),
            prlimit(pid, RLIMIT_NOFILE),
            (process / "environ").read_bytes(),
            (process / "oom_score_adj").read_text(),
            ctypes.CDLL(None).syscall(31 if os.uname().machine == "aarch64" else 252, 1, pid),  # ioprio_get
        )

    def _victim_is_unharmed(self) -> bool:
        """Whether it is unchanged and ends normally on request; a pending signal would end it first."""
        try:
            if self.victim.poll() is not None or self._victim_state() != self._victim_before:
                return False
        except (ProcessLookupError, PermissionError):  # it ended, or is ending, between the two checks
            return False
        with suppress(subprocess.TimeoutExpired):
            self.victim.communicate(b"\n", timeout=WAIT_TIMEOUT)
        return self.victim.returncode == 0
