"""Public and other IP addresses: resolved addresses are checked here before a connection."""

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
    """All addresses of the host, by the system's resolver. Raises OSError, UnicodeError."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in infos))


def literal(host: str) -> Address | None:
    """The host's literal IP address; None for a name, including forms like `127.1` that resolvers accept."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Whether the address is public: not private, loopback, link-local, shared, multicast or reserved.

    An IPv6 address that embeds an IPv4 address reaches that one, so the IPv4 address decides.
    """
    if isinstance(address, IPv4Address):
        return address.is_global and not address.is_multicast and not address.is_reserved
    if inner := _embedded(address):
        return all(map(is_public, inner))
    return address.is_global and address in _GLOBAL_UNICAST


def _embedded(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The embedded IPv4 addresses: mapped, compatible, NAT64, 6to4, and Teredo's server and client."""
    if address.teredo:
        return address.teredo
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and (address in _IPV4_COMPATIBLE or address in _NAT64):
        inner = IPv4Address(int(address) & 0xFFFF_FFFF)
    return (inner,) if inner else ()
