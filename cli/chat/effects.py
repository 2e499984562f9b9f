"""What a typed line or a choice does."""

from dataclasses import dataclass

from cli.chat.state import InputRequest
from parley.protocol import client as c


@dataclass(frozen=True)
class SendMessage:
    """Send a message. `is_answer`: it answers the open request, so the chat waits for the gateway."""

    message: c.ClientMessage
    is_answer: bool = True


@dataclass(frozen=True)
class SendMessages:
    """Send several messages in order; the gateway reports those that it refuses."""

    messages: tuple[c.ClientMessage, ...]


@dataclass(frozen=True)
class AskFurther:
    """Ask the user for the text that belongs to a choice."""

    request: InputRequest


@dataclass(frozen=True)
class RunLocally:
    """Run a command in this client."""

    name: str
    argument: str = ""


@dataclass(frozen=True)
class ShowText:
    """Show a text; nothing else happens."""

    text: str


ChatEffect = SendMessage | SendMessages | AskFurther | RunLocally | ShowText
