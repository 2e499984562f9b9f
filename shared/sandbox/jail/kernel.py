"""System calls that Python does not offer. Errors raise OSError."""

import ctypes
import os

PR_SET_PDEATHSIG = 1
PR_GET_PDEATHSIG = 2
PR_SET_KEEPCAPS = 8
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
PR_GET_NO_NEW_PRIVS = 39

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(number: int, *arguments: int | bytes | None) -> int:
    """Call the kernel. Integers are passed in full register width, bytes as their address."""
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *wide))


def prctl(option: int, *arguments: int) -> int:
    full = [*arguments, 0, 0, 0, 0][:4]
    return _checked(_libc.prctl(ctypes.c_int(option), *[ctypes.c_ulong(value) for value in full]))


_CAPABILITIES = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process


def set_capabilities(mask: int) -> None:
    """Keep exactly the capabilities of the bit mask `mask` as effective and permitted, none as inheritable."""
    low, high = mask & 0xFFFFFFFF, mask >> 32
    sets = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    _checked(_libc.capset(ctypes.byref(_CAPABILITIES), ctypes.byref(sets)))


def capabilities() -> int:
    """The bit mask of this thread's effective and permitted capabilities."""
    sets = (ctypes.c_uint32 * 6)()
    _checked(_libc.capget(ctypes.byref(_CAPABILITIES), ctypes.byref(sets)))
    return (sets[0] | sets[1]) | (sets[3] | sets[4]) << 32


def parent_death_signal() -> int:
    signal = ctypes.c_int()
    prctl(PR_GET_PDEATHSIG, ctypes.addressof(signal))
    return signal.value


def install_filter(program: bytes) -> None:
    """Install a BPF program (8 bytes per instruction) with seccomp for this thread and all that it starts."""
    code = ctypes.create_string_buffer(program, len(program))

    class BpfProgram(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    described = BpfProgram(len(program) // 8, ctypes.addressof(code))
    prctl(PR_SET_SECCOMP, 2, ctypes.addressof(described))
