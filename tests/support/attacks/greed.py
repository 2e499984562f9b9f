"""Attacks by excessive use of memory, disk, output and time. All are bounded, so they also run without a sandbox.

Those on the disk stay for five seconds: on a busy machine the supervisor's next look may come late.
"""

from tests.support.attacks.model import Attack

_HOLD = """
        def hold(keep):
            megabytes = 0
            for number in range(40):
                handle = os.open("gone", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600); os.unlink("gone")
                os.write(handle, b"x" * (2 << 20)); megabytes += 2
                keep(handle); time.sleep(0.02)
            time.sleep(5)
            print("got it:", megabytes, "MB that no folder shows", flush=True)
"""

ATTACKS = {
    "take all memory": Attack(
        """
        taken = []
        for _ in range(10): taken.append(bytearray(64 << 20))
        print("got it", flush=True)
        """,
        ends=("memory_limit",),
    ),
    "unpack a bomb": Attack(
        """
        import io, zipfile
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bomb: bomb.writestr("zeros", bytes(10 << 20))
        with zipfile.ZipFile(packed) as bomb:
            for number in range(8): bomb.extract("zeros", f"copy-{number}"); time.sleep(0.05)
        time.sleep(5)
        print("got it", flush=True)
        """,
        ends=("disk_limit",),
    ),
    "fill the disk": Attack(
        """
        for number in range(40):
            with open(f"file-{number}", "wb") as file: file.write(b"x" * (2 << 20))
            time.sleep(0.02)
        time.sleep(5)
        print("got it", flush=True)
        """,
        ends=("disk_limit",),
    ),
    "hide files in memory": Attack(
        _HOLD
        + """
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        def keep(handle): libc.mmap(None, 4096, 1, 1, handle, 0); os.close(handle)
        hold(keep)
        """,
        ends=("disk_limit",),
        looks=True,
    ),
    "hide files in a separate descriptor table": Attack(
        _HOLD
        + """
        kept = []
        def thread():
            attempt(call, 436, 436, 3000, 4000, 2)  # close_range, CLOSE_RANGE_UNSHARE
            attempt(call, 272, 97, 0x400)  # unshare, CLONE_FILES
            hold(kept.append)
        worker = threading.Thread(target=thread); worker.start(); worker.join()
        """,
        ends=("disk_limit",),
        looks=True,
    ),
    "hide files behind an ended main thread": Attack(
        _HOLD
        + """
        kept = []
        threading.Thread(target=hold, args=(kept.append,)).start()
        call(60, 93, 0)  # exit, of this thread alone
        """,
        ends=("disk_limit",),
        looks=True,
    ),
    "hide files in folders that move": Attack(
        """
        os.makedirs("a0/b0"); outer = os.open("a0", os.O_RDONLY); inner = os.open("a0/b0", os.O_RDONLY)
        def move():
            for number in range(10**9):
                os.rename(f"b{number}", f"b{number + 1}", src_dir_fd=outer, dst_dir_fd=outer)
                os.rename(f"a{number}", f"a{number + 1}")
        threading.Thread(target=move, daemon=True).start()
        for number in range(40):
            handle = os.open(f"file-{number}", os.O_RDWR | os.O_CREAT, 0o600, dir_fd=inner)
            os.write(handle, b"x" * (2 << 20)); os.close(handle); time.sleep(0.02)
        time.sleep(5); print("got it", flush=True); os._exit(0)
        """,
        ends=("disk_limit",),
    ),
    "print without end": Attack(
        """
        for _ in range(300): print("x" * 65_536)
        print("got it")
        """,
        ends=("output_limit",),
    ),
    "run for ever": Attack(
        """
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(number, signal.SIG_IGN)
        print("got it" if signal.getsignal(signal.SIGTERM) is None else "begun", flush=True)
        while True: os.write(2, b"."); time.sleep(0.01)  # a slow reader is kept busy
        """,
        ends=("timeout",),
        wall=0.7,
    ),
}
