"""What a typed line or a choice does."""

from dataclasses import dataclass

from cli.chat.state import Ask
from parley.protocol import client as c


@dataclass(frozen=True)
class Send:
    """Tell the gateway. `moves`: it answers what was asked, so that this waits until the gateway speaks again."""

    message: c.ClientMessage
    moves: bool = True


@dataclass(frozen=True)
class SendAll:
    """Tell the gateway all of these, in order; whatever it refuses of them, it says so."""

    messages: tuple[c.ClientMessage, ...]


@dataclass(frozen=True)
class More:
    """Ask for the words that belong to this choice."""

    ask: Ask


@dataclass(frozen=True)
class Local:
    """Something that this client does itself."""

    name: str
    argument: str = ""


@dataclass(frozen=True)
class Say:
    """A word to the person; nothing else happens."""

    text: str


Doing = Send | SendAll | More | Local | Say
