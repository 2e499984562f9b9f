"""The system call filter, a BPF program for seccomp: calls that are not allowed return an error."""

import errno
import struct

from . import kernel, syscalls

ARCHITECTURES = {"x86_64": (1, 0xC000003E), "aarch64": (2, 0xC00000B7)}
"""Machine: its column in the tables, its audit code."""

KILL = 0x80000000
ALLOW = 0x7FFF0000
_ERROR = 0x00050000

_LOAD, _AND, _EQUAL, _GREATER, _RETURN = 0x20, 0x54, 0x15, 0x25, 0x06
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in seccomp_data

_CLONE_THREAD = 0x00010F00  # memory, folder, descriptors and signal handlers shared, as the C library wants them
_CLONE_NAMESPACES = 0x7E020000
_THREAD_NAME = [15, 16]  # PR_SET_NAME, PR_GET_NAME
_TERMINAL_AND_FLAGS = [0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451]  # TCGETS TIOCGWINSZ FIONREAD FIONBIO FIO(N)CLEX
_DESCRIPTOR_COMMANDS = [0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032]  # not F_SETOWN and F_SETSIG: they send signals
_READ, _WRITE, _READ_WRITE, _TRUNCATE = 0, 1, 2, 0x200
_CLOSE_ON_EXEC = 4
_AF_UNIX, _SOCK_STREAM, _SOCK_FLAGS = 1, 1, 0x80800


class SyscallRule:
    """The 32-bit half of an argument, after masking, must be one of the values."""

    def __init__(self, argument: int, values: list[int], *, mask: int = 0xFFFFFFFF, high: bool = False) -> None:
        self.offset = 16 + 8 * argument + (4 if high else 0)
        self.values = values
        self.mask = mask


def checks(pid: int) -> dict[str, list[SyscallRule]]:
    """The rules of each checked call, all of which must hold.

    A program may start threads but not processes, signal only itself, and use socket pairs of streams (asyncio needs
    one), which cannot have an address. All threads share one descriptor table, so that the supervisor sees every open
    file. Opening a file for reading must not truncate it: Landlock before Linux 6.2 would allow that.
    """
    opened = [_READ, _WRITE, _READ_WRITE, _WRITE | _TRUNCATE, _READ_WRITE | _TRUNCATE]
    how = _READ | _WRITE | _READ_WRITE | _TRUNCATE
    return {
        "clone": [SyscallRule(0, [_CLONE_THREAD], mask=_CLONE_THREAD | _CLONE_NAMESPACES)],
        "open": [SyscallRule(1, opened, mask=how)],
        "openat": [SyscallRule(2, opened, mask=how)],
        "close_range": [SyscallRule(2, [0, _CLOSE_ON_EXEC])],
        "kill": [SyscallRule(0, [pid])],
        "tgkill": [SyscallRule(0, [pid])],
        "prctl": [SyscallRule(0, _THREAD_NAME)],
        "ioctl": [SyscallRule(1, _TERMINAL_AND_FLAGS)],
        "fcntl": [SyscallRule(1, _DESCRIPTOR_COMMANDS)],
        "prlimit64": [SyscallRule(0, [0])],
        "socketpair": [SyscallRule(0, [_AF_UNIX]), SyscallRule(1, [_SOCK_STREAM], mask=0xFFFFFFFF & ~_SOCK_FLAGS)],
        "sendto": [SyscallRule(4, [0]), SyscallRule(4, [0], high=True)],
    }


def _instruction(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)


def _answer(error: int) -> bytes:
    return _instruction(_RETURN, _ERROR | error)


def _guarded(number: int, conditions: list[SyscallRule]) -> bytes:
    """Allow this call if all conditions hold. For other calls, continue after this code with the number loaded."""
    body = b""
    for check in conditions:
        body += _instruction(_LOAD, check.offset) + _instruction(_AND, check.mask)
        for left, value in zip(range(len(check.values), 0, -1), check.values, strict=True):
            body += _instruction(_EQUAL, value, then=left)  # over the values left and the refusal
        body += _answer(errno.EPERM)
    body += _instruction(_RETURN, ALLOW)
    return _instruction(_EQUAL, number, otherwise=len(body) // 8) + body


def program(machine: str, *, pid: int) -> bytes:
    """The filter for a machine (a key of ARCHITECTURES) and the process it is for."""
    column, audit = ARCHITECTURES[machine]
    code = _instruction(_LOAD, _ARCHITECTURE) + _instruction(_EQUAL, audit, then=1) + _instruction(_RETURN, KILL)
    code += _instruction(_LOAD, _NUMBER)
    code += _instruction(_GREATER, syscalls.NEWEST, otherwise=1) + _answer(errno.ENOSYS)
    checked = checks(pid)
    for name, number in syscalls.numbers(syscalls.CHECKED, column=column).items():
        code += _guarded(number, checked[name])
    answers = {
        syscalls.ALLOWED: _instruction(_RETURN, ALLOW),
        syscalls.PRETENDED: _answer(0),
        syscalls.UNSUPPORTED: _answer(errno.EOPNOTSUPP),
        syscalls.ABSENT: _answer(errno.ENOSYS),
    }
    for table, answer in answers.items():
        for number in syscalls.numbers(table, column=column).values():
            code += _instruction(_EQUAL, number, otherwise=1) + answer
    return code + _answer(errno.EPERM)


def enforce(machine: str, *, pid: int) -> None:
    kernel.install_filter(program(machine, pid=pid))
