"""Attacks by less known system calls, each of which has let programs escape from some sandbox."""

import platform

from tests.support.attacks.model import Attack

_MACHINE_CODE = """
        import mmap
        def run(code, *args):
            page = mmap.mmap(-1, 4096, prot=7)
            page[:len(code) // 2] = bytes.fromhex(code)
            address = ctypes.addressof(ctypes.c_char.from_buffer(page))
            return ctypes.CFUNCTYPE(ctypes.c_long, *[ctypes.c_long] * len(args))(address)(*args)
"""

ATTACKS = {
    "use dangerous system calls": Attack(
        """
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
            "inotify_init1": (26 if arm else 294, 0),
            "personality": (92 if arm else 135, 0xFFFFFFFF),
            "open_by_handle_at": (265 if arm else 304, -1, 0, 0),
            "pidfd_open": (434, os.getpid(), 0),
            "landlock_create_ruleset": (444, 0, 0, 1),
            "chroot": (51 if arm else 161, 0),
            "seccomp": (277 if arm else 317, 2, 0, 0),
            "fanotify_init": (262 if arm else 300, 0, 0),
            "fsopen": (430, 0, 0),
            "kcmp": (272 if arm else 312, os.getpid(), os.getpid(), 0, 0, 0),
            "process_madvise": (440, -1, 0, 0, 0, 0),
            "memfd_secret": (447, 0x7FFFFFFF),
        }
        for name, (number, *args) in calls.items():
            ctypes.set_errno(0)
            if libc.syscall(number, *args) >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS):
                print("got it", name)
        """
    ),
    "raise its own limits": Attack(
        """
        import resource
        for what in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC):
            soft, hard = resource.getrlimit(what)
            if hard == resource.RLIM_INFINITY or hard > 1 << 40: print("got it", what)
            elif attempt(lambda: resource.setrlimit(what, (hard + 1, hard + 1)) or True): print("got it", what)
        if libc.prctl(1, 0, 0, 0, 0) == 0: print("got it: survives its supervisor")
        if libc.prctl(4, 1, 0, 0, 0) == 0: print("got it: may be traced and dumped")
        if libc.prctl(36, 1, 0, 0, 0) == 0: print("got it: adopts orphans")
        """
    ),
    "read a file by io_uring": Attack(
        """
        import mmap
        def ring():  # io_uring: the kernel's own thread opens the file, past a filter of system calls
            parameters = ctypes.create_string_buffer(120)
            handle = call(425, 425, 4, parameters)
            entries, taken = struct.unpack_from("=2I", parameters)
            head, tail, mask, _, _, _, array = struct.unpack_from("=7I", parameters, 40)
            orders = mmap.mmap(handle, array + entries * 4, offset=0)
            slots = mmap.mmap(handle, entries * 64, offset=0x10000000)
            path = ctypes.create_string_buffer((world["home"] + "/secret.txt").encode())
            answers = mmap.mmap(handle, 4096, offset=0x8000000)
            *_, where = struct.unpack_from("=6I", parameters, 80)
            opens = (18, 0, 0, -100, 0, ctypes.addressof(path), 0, 0, 7, 0, 0, 0, 0, 0)
            slots[:64] = struct.pack("=BBHiQQIIQHHiQQ", *opens)
            orders[array:array + 4] = struct.pack("=I", 0); orders[tail:tail + 4] = struct.pack("=I", 1)
            call(426, 426, handle, 1, 1, 1, 0, 0)
            _, result, _ = struct.unpack_from("=QiI", answers, where)
            if result < 0: raise OSError(-result, "openat by io_uring")
            print(os.read(result, 99))
        attempt(ring)
        """
    ),
    "call the kernel without the C library": Attack(
        _MACHINE_CODE
        + """
        attempt(call, 0x40000000 | 62, 0x40000000 | 129, world["victim"], 9)  # with the x32 bit: the same calls
        if not arm: run("b83e0000000f05c3", world["victim"], 9)  # 62 is kill
        attempt(call, 62, 129, world["victim"], 9)
        """
    ),
    "use another instruction set": Attack(
        _MACHINE_CODE
        + """
        if not arm: run("5389fb89f1b825000000cd805bc3", world["victim"], 9)  # for 32-bit programs 37 is kill
        """,
        ends=("killed",) if platform.machine() == "x86_64" else ("exited",),
    ),
    "control the machine": Attack(
        """
        no_time = struct.pack("=qq", 0, -1)
        name = os.uname().nodename.encode()
        calls = {  # arguments that change nothing: the present values, or things that do not exist
            "clock_settime": (227, 112, 0, no_time),
            "settimeofday": (164, 170, 0, 0),
            "sethostname": (170, 161, name, len(name)),
            "syslog": (103, 116, 10, 0, 0),
            "init_module": (175, 105, 0, 0, 0),
            "swapon": (167, 224, 0, 0),
            "acct": (163, 89, b"/nonexistent/accounts"),
            "pivot_root": (155, 41, b"/nonexistent", b"/nonexistent"),
            "umount2": (166, 39, b"/nonexistent", 0),
            "reboot": (169, 142, 0, 0, 0, 0),
            "setns": (308, 268, -1, 0),
            "quotactl": (179, 60, 0, 0, 0, 0),
        }
        for label, (x86, arm64, *args) in calls.items():
            try: call(x86, arm64, *args)
            except OSError as error:
                if error.errno in (errno.EPERM, errno.ENOSYS): continue
            print("got it", label)
        for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern", "/dev/mem", "/dev/kmsg"):
            attempt(lambda: print("got it", os.open(path, os.O_WRONLY)))
        """
    ),
    "become another user": Attack(
        """
        for become in (os.setuid, os.setgid, os.seteuid): attempt(lambda: print("got it", become(0)))
        attempt(lambda: print("got it", os.setgroups([0])))
        attempt(lambda: print("got it", os.setresuid(-1, 0, -1)))
        attempt(lambda: print("got it", call(308, 268, os.open("/proc/1/ns/mnt", os.O_RDONLY), 0)))  # setns
        attempt(lambda: print("got it", call(272, 97, 0x10000000)))  # unshare: a new user namespace
        attempt(lambda: print("got it", call(126, 91, struct.pack("=Ii", 0x20080522, 0), b"\\0" * 24)))  # capset
        """
    ),
}
