"""Kernel objects that outlive a process and that other processes can share; a host may lack any of them."""

import ctypes
import os
from contextlib import suppress

from shared.sandbox.jail.kernel import syscall

_ARM = os.uname().machine == "aarch64"
_libc = ctypes.CDLL(None, use_errno=True)
_libc.shmat.restype = ctypes.c_void_p
_libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
_libc.shmdt.argtypes = [ctypes.c_void_p]


class Segment:
    """A System V shared memory segment that every user may read and write."""

    def __init__(self, secret: str) -> None:
        self.number = _libc.shmget(0, 4096, 0o1666)
        self._text = secret.encode()
        self._address: int | None = None
        if self.number >= 0:
            self._address = _libc.shmat(self.number, None, 0)
            ctypes.memmove(self._address or 0, self._text, len(self._text))

    def changed(self) -> bool:
        return bool(self._address) and ctypes.string_at(self._address or 0, len(self._text)) != self._text

    def close(self) -> None:
        if self._address:
            _libc.shmdt(self._address)
            _libc.shmctl(self.number, 0, None)


class Queue:
    """A POSIX message queue that every user may write to."""

    def __init__(self, name: str) -> None:
        self._name = name.encode()
        self._handle: int | None = None
        before = os.umask(0)
        with suppress(OSError):
            number = os.O_RDONLY | os.O_CREAT | os.O_NONBLOCK
            self._handle = syscall(180 if _ARM else 240, self._name, number, 0o666, 0)
        os.umask(before)

    def has_message(self) -> bool:
        if self._handle is None:
            return False
        with suppress(BlockingIOError):
            return syscall(183 if _ARM else 243, self._handle, bytes(8192), 8192, 0, 0) > 0
        return False

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            syscall(181 if _ARM else 241, self._name)


class Key:
    """A key in the session keyring, which all child processes inherit."""

    def __init__(self, name: str, secret: str) -> None:
        self.number = 0
        with suppress(OSError):
            self.number = syscall(217 if _ARM else 248, b"user", name.encode(), secret.encode(), len(secret), -3)
            self._control(5, self.number, 0x3F3F3F3F)  # KEYCTL_SETPERM: all permissions for every user

    @staticmethod
    def _control(*arguments: int) -> None:
        syscall(219 if _ARM else 250, *arguments)

    def close(self) -> None:
        if self.number:
            self._control(3, self.number)  # KEYCTL_REVOKE
