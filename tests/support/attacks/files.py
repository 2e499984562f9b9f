"""Attacks on files: reading files of others, and writing outside the program's folder."""

from tests.support.attacks.model import Attack

ATTACKS = {
    "read a file": Attack(
        """
        target = world["home"] + "/secret.txt"
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
        """
    ),
    "read secrets of environments": Attack(
        """
        print(dict(os.environ))
        for process in ("self", os.getppid(), 1, world["victim"]):
            attempt(show, f"/proc/{process}/environ")
        """
    ),
    "list folders and system files": Attack(
        """
        for path in ("/", "/home", "/root", "/tmp", "/etc", "/proc", "/sys", world["home"], world["project"], ".."):
            if attempt(os.listdir, path): print("got it")
        for path in ("/etc/shadow", "/etc/passwd", "/proc/1/cmdline", "/proc/net/tcp", "/proc/self/mountinfo"):
            if attempt(lambda: open(path, "rb").read(10)): print("got it")
        """
    ),
    "read the project": Attack(
        """
        def read(path):
            if open(path).read(): print("got it")
        attempt(read, world["project"] + "/shared/settings.py")
        attempt(read, world["project"] + "/shared/sandbox/jail/launcher.py")
        """
    ),
    "import an installed package": Attack(
        """
        sys.path += [world["project"], *world["packages"]]
        def load(): import pydantic; print("got it")
        attempt(load)
        """
    ),
    "change files outside": Attack(
        """
        target = world["home"] + "/secret.txt"
        attempt(lambda: open(world["home"] + "/new.txt", "w").write("x"))
        attempt(lambda: open(target, "a").write("x"))
        attempt(os.open, target, os.O_RDONLY | os.O_TRUNC)
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
        """
    ),
    "change modes by new system calls": Attack(
        """
        target = (world["home"] + "/secret.txt").encode()
        attempt(call, 452, 452, -100, target, 0o611, 0)  # fchmodat2
        pair = ctypes.create_string_buffer(b"x" * 8)
        value = struct.pack("=QII", ctypes.addressof(pair), 1, 0)
        attempt(call, 463, 463, -100, target, 0, b"user.y", value, len(value))  # setxattrat
        attempt(call, 90, 52, target, 0o622) if not arm else None  # chmod, without the C library
        """
    ),
    "leave something in shared places": Attack(
        """
        for place in ("/tmp", "/var/tmp", "/dev/shm"):
            attempt(lambda: open(f"{place}/dropped-{world['mark']}", "w").write("x"))
        """
    ),
    "smuggle a file out": Attack(
        """
        out = world["home"] + "/smuggled"
        def nameless():
            handle = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
            os.link(f"/proc/self/fd/{handle}", out + "1", follow_symlinks=True)
        def by_handle():
            handle = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
            call(265, 37, handle, b"", -100, (out + "2").encode(), 0x1000)  # linkat, AT_EMPTY_PATH
        def exchanged():
            open("own", "w").write("x")
            call(316, 276, -100, b"own", -100, (world["home"] + "/secret.txt").encode(), 2)  # RENAME_EXCHANGE
        attempt(nameless); attempt(by_handle); attempt(exchanged)
        open("mine", "w").write("x")
        attempt(os.link, "mine", out + "3"); attempt(os.rename, "mine", out + "4")
        attempt(os.mknod, out + "5")
        """
    ),
    "race a folder against a link": Attack(
        """
        os.mkdir("real"); os.symlink(world["home"], "link")
        stop = threading.Event()
        def swap():
            while not stop.is_set():
                for source in ("real", "link"):
                    attempt(os.rename, "at", "old"); attempt(os.rename, source, "at")
                    attempt(os.rename, "at", source); attempt(os.rename, "old", "at")
        sys.stderr = open(os.devnull, "w")
        racer = threading.Thread(target=swap); racer.start()
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            attempt(lambda: open("at/raced", "w").write("x"))
            attempt(lambda: show("at/secret.txt"))
            attempt(lambda: os.open("at/../at/secret.txt", os.O_WRONLY | os.O_TRUNC))
        stop.set(); racer.join()
        """
    ),
    "open a file by its file handle": Attack(
        """
        handle = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 8 + 128)
        mount = ctypes.c_int()
        def open_it():
            call(303, 264, -100, (world["home"] + "/secret.txt").encode(), handle, ctypes.byref(mount), 0)
            somewhere = os.open(world["home"], os.O_RDONLY)
            print(os.read(call(304, 265, somewhere, handle, 0), 99))
        attempt(open_it)
        """,
        root=True,
    ),
    "take a descriptor of another process": Attack(
        """
        parent, number = os.getppid(), world["descriptor"]
        attempt(show, f"/proc/{parent}/fd/{number}")
        def copied():
            process = call(434, 434, parent, 0)  # pidfd_open
            own = call(438, 438, process, number, 0)  # pidfd_getfd
            print(os.pread(own, 99, 0))
        attempt(copied)
        """
    ),
    "use descriptors that were left open": Attack(
        """
        for number in range(3, 4000):
            try:
                if os.fstat(number).st_ino == world["canary"]: os.pwrite(number, b"changed", 0)
            except OSError: pass
        """
    ),
    "set traps for the cleanup": Attack(
        """
        os.mkdir("deep"); os.mkdir("closed")
        for number in range(20):
            attempt(os.symlink, world["home"], f"deep/link-{number}")
            attempt(os.symlink, world["home"] + "/secret.txt", f"file-{number}")
            attempt(os.symlink, world["home"], f"moved-{number}")
            attempt(os.link, world["home"] + "/secret.txt", f"hard-{number}")
        attempt(os.symlink, "..", "closed/up"); attempt(os.symlink, "/", "root")
        attempt(os.mkfifo, "fifo"); attempt(os.unlink, "program.py"); attempt(os.symlink, world["home"], "program.py")
        attempt(call, 90, 53, b"closed", 0) if not arm else None
        """
    ),
}
