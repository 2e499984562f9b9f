"""TCP ports of this machine: whether one is free, finding a free one, and who listens on one."""

import errno
import random
import socket
import sys
from pathlib import Path

# Below the kernel's ephemeral ports (Linux from 32768, macOS from 49152): a client that keeps reconnecting to an
# ephemeral port can connect to itself, and so take the port from the server for good.
_PORT_RANGE = range(20_000, 30_000)


def is_free(host: str, port: int) -> bool:
    """Whether a server can listen there. Raises OSError if the address is not one of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: a port in TIME_WAIT counts as free
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
        return True


def free_port(host: str = "127.0.0.1", preferred: int = 0) -> int:
    """`preferred` if it is free, else a free port between 20000 and 30000.

    The port is claimed while this process lives, so a Parley that starts at the same time gets another one.
    """
    for port in (*([preferred] if preferred else []), *random.sample(_PORT_RANGE, 200)):
        if is_free(host, port) and _claim(port):
            return port
    raise OSError(errno.EADDRINUSE, f"no free port on {host} between {_PORT_RANGE.start} and {_PORT_RANGE.stop}")


def _claim(port: int) -> bool:
    """Claim a port before anything listens on it. False if another Parley has claimed it."""
    if sys.platform != "linux":
        return True
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # An abstract socket: visible in this network namespace, like the port, and gone with the process.
        claim.bind(f"\0parley-port-{port}")
    except OSError:
        claim.close()
        return False
    claim.detach()
    return True


def who_listens(port: int) -> str:
    """The listener on this TCP port, like "process 12 (python3 -m http.server)"; "" if it cannot be determined."""
    inodes = {f"socket:[{inode}]" for name in ("tcp", "tcp6") for inode in _listening(Path("/proc/net") / name, port)}
    if not inodes:
        return ""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(link.readlink()) in inodes for link in (process / "fd").iterdir()):
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                return f"process {process.name} ({command[:80]})"
        except OSError:  # the process has ended, or belongs to another account
            continue
    return ""


def _listening(table: Path, port: int) -> list[str]:
    """Inodes of the sockets in the kernel's table that listen on `port` (state 0A)."""
    try:
        rows = [line.split() for line in table.read_text().splitlines()[1:]]
    except OSError:
        return []
    return [row[9] for row in rows if row[3] == "0A" and int(row[1].rpartition(":")[2], 16) == port]
