"""Ports of this machine: is one free, find one, and who has it."""

import errno
import random
import socket
import sys
from pathlib import Path

# Below the ports that the kernel hands out for outgoing connections (Linux from 32768, macOS from 49152): a client that
# keeps trying to reconnect to a port among those can connect to itself, and so take the port from the server for good.
_OURS = range(20_000, 30_000)


def is_free(host: str, port: int) -> bool:
    """Can a server listen there? Raises OSError when the address itself is not one of this machine's."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: a closed connection's rest is free
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
        return True


def free_port(host: str = "127.0.0.1", preferred: int = 0) -> int:
    """`preferred` where it is free, else a free port between 20000 and 30000.

    Another Parley that starts at the same time is not given the same one: it is claimed while this process lives.
    """
    for port in (*([preferred] if preferred else []), *random.sample(_OURS, 200)):
        if is_free(host, port) and _claim(port):
            return port
    raise OSError(errno.EADDRINUSE, f"no free port on {host} between {_OURS.start} and {_OURS.stop}")


def _claim(port: int) -> bool:
    """Say to other Parleys that this port is spoken for, though nobody listens yet; False if one of them said so."""
    if sys.platform != "linux":
        return True
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # An abstract name: seen where the port is (in this network namespace), and gone with the process.
        claim.bind(f"\0parley-port-{port}")
    except OSError:
        claim.close()
        return False
    claim.detach()
    return True


def who_listens(port: int) -> str:
    """Who listens on this TCP port, as "process 12 (python3 -m http.server)"; "" where it cannot be told."""
    inodes = {f"socket:[{inode}]" for name in ("tcp", "tcp6") for inode in _listening(Path("/proc/net") / name, port)}
    if not inodes:
        return ""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(link.readlink()) in inodes for link in (process / "fd").iterdir()):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                return f"process {process.name} ({command[:80]})"
        except OSError:  # it has ended meanwhile, or belongs to somebody else
            continue
    return ""


def _listening(table: Path, port: int) -> list[str]:
    """Inodes of the sockets in the kernel's table that listen on `port` (state 0A)."""
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return []
    return [row[9] for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port]
