"""Attacks on processes: starting some, outliving the run, and interfering with others."""

from tests.support.attacks.model import Attack

ATTACKS = {
    "start processes": Attack(
        """
        import multiprocessing, subprocess
        def fork():
            if os.fork() == 0: print("got it", flush=True); os._exit(0)
        def clone(*flags):
            if call(56, 220, *flags, 0, 0, 0, 0) == 0: print("got it", flush=True); os._exit(0)
        attempt(fork)
        attempt(clone, 17)
        attempt(clone, 0x10000000 | 17)
        attempt(subprocess.run, ["/bin/echo", "got it"])
        attempt(os.posix_spawn, "/bin/echo", ["echo", "got it"], {})
        attempt(os.system, "echo got it")
        attempt(os.waitpid, -1, 0)
        """
    ),
    "become another program": Attack(
        """
        attempt(os.execv, "/bin/sh", ["sh", "-c", "echo got it"])
        attempt(os.execv, "/proc/self/exe", ["python", "-c", "print('got it')"])
        """
    ),
    "run a file that it wrote": Attack(
        """
        open("own", "w").write("#!/bin/sh\\necho got it\\n")
        attempt(os.chmod, "own", 0o755)
        attempt(os.execv, "own", ["own"])
        """
    ),
    "run a file that is only in memory": Attack(
        """
        def run():
            handle = call(319, 279, b"own", 0)  # memfd_create
            os.write(handle, b"#!/bin/sh\\necho got it\\n")
            os.execve(handle, ["own"], {})
        def by_path(): os.execve(f"/proc/self/fd/{call(319, 279, b'own', 0)}", ["own"], {})
        attempt(run); attempt(by_path)
        """
    ),
    "start many processes": Attack(
        """
        children = 0
        def more(fork, *args):
            global children
            if fork(*args) == 0: time.sleep(0.5); os._exit(0)
            children += 1
        for _ in range(50):
            attempt(more, os.fork); attempt(more, call, 56, 220, 17, 0, 0, 0, 0)
        if children: print("got it", children)
        """
    ),
    "outlive the run": Attack(
        """
        def leave():
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0:
                    for number in range(3): os.close(number)
                    time.sleep(30)
                os._exit(0)
        attempt(leave); time.sleep(0.2)
        """
    ),
    "leave the group": Attack(
        """
        def leave(call, *args): call(*args); print("got it")
        attempt(leave, os.setpgid, 0, os.getpgid(os.getppid()))
        attempt(leave, os.setsid)
        """
    ),
    "kill another process": Attack(
        """
        victim = world["victim"]
        attempt(os.kill, victim, signal.SIGKILL)
        attempt(lambda: signal.pidfd_send_signal(os.pidfd_open(victim), signal.SIGKILL))
        attempt(call, 234, 131, victim, victim, 9)  # tgkill
        """
    ),
    "signal another process by less common calls": Attack(
        """
        victim = world["victim"]
        attempt(os.killpg, victim, signal.SIGKILL)
        attempt(os.kill, -victim, signal.SIGKILL)
        attempt(call, 200, 130, victim, 9)  # tkill
        information = struct.pack("=iii", 9, 0, -1).ljust(128, b"\\0")
        attempt(call, 129, 138, victim, 9, information)  # rt_sigqueueinfo
        attempt(call, 297, 240, victim, victim, 9, information)
        """
    ),
    "have the kernel signal another process": Attack(
        """
        import fcntl
        def owner(own):
            read, write = os.pipe()
            own(read)
            fcntl.fcntl(read, 10, signal.SIGKILL)  # F_SETSIG
            fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC)
            os.write(write, b"x")
        attempt(owner, lambda pipe: fcntl.fcntl(pipe, fcntl.F_SETOWN, world["victim"]))
        attempt(owner, lambda pipe: fcntl.fcntl(pipe, 15, struct.pack("=ii", 1, world["victim"])))  # F_SETOWN_EX
        attempt(owner, lambda pipe: fcntl.ioctl(pipe, 0x8901, struct.pack("=i", world["victim"])))  # FIOSETOWN
        def by_folder_change():
            folder = os.open(".", os.O_RDONLY)
            fcntl.fcntl(folder, fcntl.F_SETOWN, world["victim"])
            fcntl.fcntl(folder, 10, signal.SIGKILL)
            fcntl.fcntl(folder, 1026, 4)  # F_NOTIFY, DN_CREATE
            open("new", "w").close()
        attempt(by_folder_change)
        """
    ),
    "trace another process": Attack(
        """
        PTRACE_SEIZE, EXIT_KILLS = 0x4206, 1 << 20
        attempt(call, 101, 117, PTRACE_SEIZE, world["victim"], 0, EXIT_KILLS)
        attempt(call, 101, 117, 16, world["victim"], 0, 0)  # PTRACE_ATTACH
        """
    ),
    "read the memory of another process": Attack(
        """
        def areas(process):
            for line in open(f"/proc/{process}/maps"):
                if "[stack]" in line or "[heap]" in line:
                    yield [int(part, 16) for part in line.split()[0].split("-")]
        def by_file(process):
            with open(f"/proc/{process}/mem", "rb", 0) as memory:
                for start, end in areas(process):
                    memory.seek(start); show_secret(memory.read(end - start))
        def show_secret(text):
            at = text.find(b"SECRET=")
            if at >= 0: print(text[at:at + 80])
        def by_call(process, start, size):
            into = ctypes.create_string_buffer(size)
            here = struct.pack("=QQ", ctypes.addressof(into), size); there = struct.pack("=QQ", start, size)
            call(310, 270, process, here, 1, there, 1, 0); show_secret(into.raw)  # process_vm_readv
        for process in (world["victim"], os.getppid()):
            attempt(by_file, process)
            attempt(by_call, process, *world["memory"])
        """
    ),
    "write the memory of another process": Attack(
        """
        start, size = world["memory"]
        def by_file():
            with open(f"/proc/{world['victim']}/mem", "r+b", 0) as memory: memory.seek(start); memory.write(b"x" * size)
        def by_call():
            text = ctypes.create_string_buffer(b"x" * size)
            here = struct.pack("=QQ", ctypes.addressof(text), size); there = struct.pack("=QQ", start, size)
            call(311, 271, world["victim"], here, 1, there, 1, 0)  # process_vm_writev
        attempt(by_file); attempt(by_call)
        """
    ),
    "limit another process": Attack(
        """
        import resource
        attempt(resource.prlimit, world["victim"], resource.RLIMIT_NOFILE, (3, 3))
        """
    ),
    "slow another process down": Attack(
        """
        victim = world["victim"]
        attempt(os.setpriority, os.PRIO_PROCESS, victim, 19)
        attempt(os.setpriority, os.PRIO_PGRP, victim, 19)
        attempt(os.sched_setscheduler, victim, os.SCHED_IDLE, os.sched_param(0))
        attempt(os.sched_setaffinity, victim, {0})
        attempt(call, 251, 30, 1, victim, 3 << 13)  # ioprio_set: idle
        attempt(lambda: open(f"/proc/{victim}/oom_score_adj", "w").write("1000"))
        """
    ),
}
