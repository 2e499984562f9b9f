"""Attacks through what connects processes: sockets, shared memory, queues, keys, terminals."""

from tests.support.attacks.model import Attack

ATTACKS = {
    "reach the network": Attack(
        """
        def send(family, kind, address):
            with socket.socket(family, kind) as s: s.settimeout(1); s.connect(address); s.send(b"x")
        attempt(send, socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", world["tcp"]))
        attempt(send, socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", world["udp"]))
        attempt(send, socket.AF_INET6, socket.SOCK_STREAM, ("::ffff:127.0.0.1", world["tcp"]))
        attempt(send, socket.AF_UNIX, socket.SOCK_STREAM, world["home"] + "/socket")
        """
    ),
    "reach a socket without a file": Attack(
        """
        def connect():
            with socket.socket(socket.AF_UNIX) as s: s.connect(chr(0) + world["mark"])
        def first_packet_with_the_handshake():
            with socket.socket() as s: s.sendto(b"x", 0x20000000, ("127.0.0.1", world["tcp"]))  # MSG_FASTOPEN
        attempt(connect); attempt(first_packet_with_the_handshake)
        """
    ),
    "reach a socket through a pair": Attack(
        """
        for kind in (socket.SOCK_DGRAM, socket.SOCK_SEQPACKET, socket.SOCK_STREAM):
            def send():
                one, two = socket.socketpair(socket.AF_UNIX, kind)
                attempt(one.sendto, b"x", world["home"] + "/datagrams")
                attempt(one.sendmsg, [b"x"], [], 0, world["home"] + "/datagrams")
                attempt(one.connect, world["home"] + "/datagrams")
            attempt(send)
        """
    ),
    "use the kernel's own sockets": Attack(
        """
        def netlink():  # to another process; the same family sets routes and addresses
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2) as s:
                s.sendto(struct.pack("=IHHII", 16, 0, 0, 0, 0), (world["netlink"], 0))
        attempt(netlink)
        for family, kind, protocol in ((16, 3, 0), (38, 5, 0), (40, 1, 0), (1, 2, 0), (31, 3, 1)):
            def ask():  # routes, ciphers, the host of a virtual machine, datagrams, bluetooth
                with socket.socket(family, kind, protocol): print("got it")
            attempt(ask)
        """
    ),
    "forge packets": Attack(
        """
        datagram = struct.pack("!HHHH", 9, world["udp"], 9, 0) + b"x"
        header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(datagram), 0, 0, 64, 17, 0,
                             socket.inet_aton("127.0.0.1"), socket.inet_aton("127.0.0.1"))
        def raw():
            with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as s:
                s.sendto(header + datagram, ("127.0.0.1", 0))
        def frames():
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300) as s:
                s.bind(("lo", 0)); print("got it")
        attempt(raw); attempt(frames)
        """,
        root=True,
    ),
    "use System V shared memory": Attack(
        """
        libc.shmat.restype = ctypes.c_void_p
        def attach():
            address = libc.shmat(world["segment"], None, 0)
            if address == ctypes.c_void_p(-1).value: raise OSError(ctypes.get_errno(), "shmat")
            print(ctypes.string_at(address, 64))
            ctypes.memmove(address, b"changed", 7)
        attempt(attach)
        def ask(*numbers):  # the object does not exist; any error but a refusal means that the call is allowed
            try: call(*numbers)
            except OSError as error:
                if error.errno in (errno.EPERM, errno.ENOSYS): raise
            print("got it")
        attempt(ask, 29, 194, 0x7FFFFFF1, 4096, 0)  # shmget
        attempt(ask, 68, 186, 0x7FFFFFF1, 0)  # msgget
        attempt(ask, 64, 190, 0x7FFFFFF1, 1, 0)  # semget
        """
    ),
    "use POSIX shared memory and queues": Attack(
        """
        attempt(show, "/dev/shm/canary-" + world["mark"])
        attempt(lambda: open("/dev/shm/canary-" + world["mark"], "w").write("changed"))
        def send():
            queue = call(240, 180, world["mark"].encode(), os.O_RDWR, 0, 0)  # mq_open
            call(242, 182, queue, b"x", 1, 0, 0)  # mq_timedsend
        attempt(send)
        """
    ),
    "read the kernel's keyring": Attack(
        """
        into = ctypes.create_string_buffer(200)
        def read(): call(250, 219, 11, world["key"], into, 200); print(into.value)  # KEYCTL_READ
        attempt(read)
        attempt(lambda: print("got it", call(250, 219, 0, -3, 1)))  # the session's keyring
        attempt(lambda: print("got it", call(248, 217, b"user", b"mine", b"x", 1, -3)))  # add_key
        """
    ),
    "write to a terminal": Attack(
        """
        import fcntl
        def write(way): way(os.open(world["terminal"], os.O_RDWR | os.O_NOCTTY))
        attempt(write, lambda handle: os.write(handle, b"changed"))
        attempt(write, lambda handle: fcntl.ioctl(handle, 0x5412, b"x"))  # TIOCSTI: as if typed
        for path in ("/dev/tty", "/dev/console", "/dev/ptmx"):
            attempt(lambda: print("got it", os.open(path, os.O_RDWR | os.O_NOCTTY)))
        """
    ),
}
