"""Landlock: which files the process can open. Everything else is inaccessible, whoever owns it."""

import os
import struct
import sys

from . import kernel
from .errors import LayerRefused

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture

WRITE_FILE, READ_FILE, READ_DIR = 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG, MAKE_SYM = 1 << 4, 1 << 5, 1 << 7, 1 << 8, 1 << 12
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

SCRATCH = (
    WRITE_FILE | READ_FILE | READ_DIR | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SYM | REFER | TRUNCATE
)
"""All rights but executing and creating devices, sockets and named pipes."""

_SYSTEM = ("/usr/lib", "/lib", "/usr/lib64", "/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/localtime")
_DEVICES = (("/dev/null", READ_FILE | WRITE_FILE), ("/dev/urandom", READ_FILE), ("/dev/zero", READ_FILE))
_NOT_OURS = ("site-packages", "dist-packages")


def _handled(abi: int) -> int:
    """The file rights that this ABI knows, all of which are then denied by default."""
    rights = (1 << 13) - 1
    for since, right in ((2, REFER), (3, TRUNCATE), (5, IOCTL_DEV)):
        rights |= right if abi >= since else 0
    return rights


def _library() -> list[tuple[str, int]]:
    """The standard library without installed packages, and the shared libraries that its extensions need."""
    allowed = []
    for folder in filter(os.path.isdir, sys.path):
        allowed.append((folder, READ_DIR))
        allowed += [(entry.path, READ_FILE) for entry in os.scandir(folder) if entry.name not in _NOT_OURS]
    beside = os.path.join(sys.base_prefix, "lib")  # noqa: PTH118 - pathlib costs 10 ms at every start
    if os.path.isdir(beside):  # noqa: PTH112 - as above
        shared = (entry for entry in os.scandir(beside) if entry.name.startswith("lib") and ".so" in entry.name)
        allowed += [(entry.path, READ_FILE) for entry in shared]
    return allowed


class Ruleset:
    """Opens the allowed places; `enforce` then denies all others to this thread and everything that it starts.

    These are two steps because the places must be opened while the process can still reach them.
    """

    def __init__(self, scratch: str) -> None:
        try:
            self.abi = kernel.syscall(_CREATE, None, 0, 1)
        except OSError as error:
            raise LayerRefused(
                f"the kernel offers no Landlock ({error.strerror}); it needs Linux 5.13 or newer with Landlock on, "
                "and in a container a seccomp profile that lets it through"
            ) from error
        self._rights = _handled(self.abi)
        network = 3 if self.abi >= 4 else 0  # no bind, no connect
        scope = 3 if self.abi >= 6 else 0  # no abstract sockets and signals beyond this process
        words = 1 if self.abi < 4 else 2 if self.abi < 6 else 3
        attributes = struct.pack("=QQQ", self._rights, network, scope)[: 8 * words]
        self._descriptor = kernel.syscall(_CREATE, attributes, len(attributes), 0)
        self._allow(scratch, SCRATCH)
        for path, rights in (*[(path, READ_FILE | READ_DIR) for path in _SYSTEM], *_DEVICES, *_library()):
            self._allow(path, rights)

    def _allow(self, path: str, rights: int) -> None:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # the system does not have this path
        try:
            if not os.path.isdir(path):  # noqa: PTH112 - pathlib costs 10 ms at every start
                rights &= READ_FILE | WRITE_FILE
            kernel.syscall(_ADD, self._descriptor, 1, struct.pack("=Qi", rights & self._rights, place), 0)
        finally:
            os.close(place)

    def enforce(self) -> None:
        """Apply the rules. Requires no_new_privs."""
        kernel.syscall(_RESTRICT, self._descriptor, 0)
        os.close(self._descriptor)
