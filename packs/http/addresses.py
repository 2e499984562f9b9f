"""Addresses of the internet, and all others: what a name resolves to is held against this before a connection."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

type Address = IPv4Address | IPv6Address
type Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_IPV4_COMPATIBLE = IPv6Network("::/96")
_NAT64 = IPv6Network("64:ff9b::/96")


async def system_resolver(host: str, port: int) -> list[str]:
    """All addresses of the host, as the system knows them. Raises OSError, UnicodeError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def literal(host: str) -> Address | None:
    """The address that the host is written as; None for a name, also for one like `127.1` that resolvers understand."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Whether the address is of the internet: not private, loopback, link-local, shared, multicast or reserved.

    An IPv6 address that carries an IPv4 address leads to that one, so it is what is judged.
    """
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast and not address.is_reserved
    if inner := _embedded(address):
        return all(map(is_public, inner))
    return address.is_global and address in _GLOBAL_UNICAST


def _embedded(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses within: mapped, compatible, NAT64, 6to4, and of Teredo the server's and the client's."""
    if address.teredo:
        return address.teredo
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and (address in _IPV4_COMPATIBLE or address in _NAT64):
        inner = IPv4Address(int(address) & 0xFFFF_FFFF)
    return (inner,) if inner else ()
