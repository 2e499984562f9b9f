"""The system call filter, run by a small interpreter, so that either machine tests both architectures."""

import errno
import struct

import pytest

from shared.sandbox.jail import seccomp, syscalls

PID = 4711
ERROR = 0x00050000
AUDIT = {machine: audit for machine, (_, audit) in seccomp.ARCHITECTURES.items()}
MACHINES = list(seccomp.ARCHITECTURES)


def decide(machine: str, number: int, *arguments: int, audit: int | None = None) -> int:
    """The kernel's decision on a system call, from an interpreter of the instructions that the filter uses."""
    code = list(struct.iter_unpack("=HBBI", seccomp.program(machine, pid=PID)))
    padded = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("=IIQ6Q", number, AUDIT[machine] if audit is None else audit, 0, *padded)
    at = accumulator = 0
    while True:
        operation, then, otherwise, value = code[at]
        at += 1
        match operation:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, value)
            case 0x54:
                accumulator &= value
            case 0x15:
                at += then if accumulator == value else otherwise
            case 0x25:
                at += then if accumulator > value else otherwise
            case 0x06:
                return int(value)
            case unknown:
                raise AssertionError(f"an instruction that the filter should not use: {unknown:#x}")


def number_of(machine: str, name: str) -> int:
    column, _ = seccomp.ARCHITECTURES[machine]
    tables = (syscalls.ALLOWED, syscalls.PRETENDED, syscalls.UNSUPPORTED, syscalls.ABSENT, syscalls.CHECKED)
    return {name: number for table in tables for name, number in syscalls.numbers(table, column=column).items()}[name]


def decide_by_name(machine: str, name: str, *arguments: int) -> int:
    return decide(machine, number_of(machine, name), *arguments)


@pytest.mark.parametrize("machine", MACHINES)
def test_no_system_call_is_in_two_tables(machine: str) -> None:
    column, _ = seccomp.ARCHITECTURES[machine]
    tables = (syscalls.ALLOWED, syscalls.PRETENDED, syscalls.UNSUPPORTED, syscalls.ABSENT, syscalls.CHECKED)
    numbers = [number for table in tables for number in syscalls.numbers(table, column=column).values()]
    assert len(numbers) == len(set(numbers))
    assert len(numbers) > 100


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", ["read", "openat", "mmap", "futex", "exit_group", "rseq", "futex_waitv"])
def test_ordinary_calls_pass(machine: str, name: str) -> None:
    assert decide_by_name(machine, name) == seccomp.ALLOW


REFUSED = {  # numbers on x86_64 and aarch64
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "sendmsg": (46, 211),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "setsid": (112, 157),
    "setpgid": (109, 154),
    "setuid": (105, 146),
    "truncate": (76, 45),
    "fchownat": (260, 54),
    "mount": (165, 40),
    "unshare": (272, 97),
    "setns": (308, 268),
    "bpf": (321, 280),
    "keyctl": (250, 219),
    "memfd_create": (319, 279),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "process_vm_readv": (310, 270),
    "open_by_handle_at": (304, 265),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_open": (434, 434),
    "io_uring_setup": (425, 425),
    "landlock_restrict_self": (446, 446),
    "shmget": (29, 194),
    "mq_open": (180 + 60, 180),
    "personality": (135, 92),
    "sched_setaffinity": (203, 122),
    "setpriority": (141, 140),
    "mknodat": (259, 33),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", REFUSED)
def test_dangerous_calls_are_refused(machine: str, name: str) -> None:
    assert decide(machine, REFUSED[name][MACHINES.index(machine)]) == ERROR | errno.EPERM


def test_fork_and_vfork_of_x86_are_refused() -> None:
    assert {decide("x86_64", number) for number in (57, 58)} == {ERROR | errno.EPERM}


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_is_killed_and_x32_calls_do_not_exist(machine: str) -> None:
    assert decide(machine, 0, audit=0x40000003) == seccomp.KILL  # 32-bit x86
    assert decide(machine, 0x40000000 | number_of(machine, "read")) == ERROR | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_newer_than_the_tables_do_not_exist(machine: str) -> None:
    assert {decide(machine, number) for number in (451, 452, 462, 5000)} == {ERROR | errno.ENOSYS}
    assert {decide_by_name(machine, name) for name in ("clone3", "openat2")} == {ERROR | errno.ENOSYS}


@pytest.mark.parametrize("machine", MACHINES)
def test_changes_of_modes_and_times_seem_to_succeed_and_attributes_are_unsupported(machine: str) -> None:
    assert {decide_by_name(machine, name) for name in ("fchmod", "fchmodat", "utimensat")} == {ERROR | 0}
    assert {decide_by_name(machine, name) for name in ("setxattr", "fallocate")} == {ERROR | errno.EOPNOTSUPP}


THREAD = 0x3D0F00  # what the C library passes for a thread
CASES = [
    ("clone", (THREAD,), True),
    ("clone", (17,), False),  # SIGCHLD: a process
    ("clone", (0x4111,), False),  # vfork
    ("clone", (THREAD | 0x10000000,), False),  # with a user namespace
    ("clone", (THREAD & ~0x400,), False),  # with a descriptor table that the supervisor would not see
    ("close_range", (3, 9, 0), True),
    ("close_range", (3, 9, 4), True),
    ("close_range", (3, 9, 2), False),  # would also separate the descriptor table
    ("openat", (0, 0, 0o2000000), True),  # to read
    ("openat", (0, 0, 0o1102), True),  # to write: creates or truncates the file
    ("openat", (0, 0, 0o1000), False),  # to read, but truncates the file
    ("openat", (0, 0, 3), False),  # neither to read nor to write
    ("kill", (PID, 9), True),
    ("kill", (PID + 1, 9), False),
    ("kill", (0, 9), False),
    ("kill", (0xFFFFFFFFFFFFFFFF, 9), False),
    ("kill", (0xFFFFFFFF, 9), False),
    ("tgkill", (PID, PID, 6), True),
    ("tgkill", (1, 1, 9), False),
    ("prctl", (15,), True),
    ("prctl", (1, 0), False),  # would survive its supervisor
    ("prctl", (22,), False),
    ("ioctl", (0, 0x5401), True),
    ("ioctl", (0, 0x5412), False),  # TIOCSTI
    ("fcntl", (0, 3), True),
    ("fcntl", (0, 1030), True),
    ("fcntl", (0, 8), False),  # F_SETOWN
    ("fcntl", (0, 10), False),  # F_SETSIG
    ("prlimit64", (0,), True),
    ("prlimit64", (PID,), False),
    ("socketpair", (1, 1 | 0x80000 | 0x800), True),
    ("socketpair", (1, 2), False),  # datagram sockets can send to any address
    ("socketpair", (2, 1), False),
    ("sendto", (3, 0, 1, 0, 0, 0), True),
    ("sendto", (3, 0, 1, 0, 0x7F0000001000, 16), False),
    ("sendto", (3, 0, 1, 0, 0x100000000, 16), False),
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("name", "arguments", "passes"), CASES)
def test_some_calls_are_allowed_only_with_certain_arguments(
    machine: str, name: str, arguments: tuple[int, ...], passes: bool
) -> None:
    assert decide_by_name(machine, name, *arguments) == (seccomp.ALLOW if passes else ERROR | errno.EPERM)
