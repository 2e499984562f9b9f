"""deploy/nats-users.conf: the users for an external NATS server, with passwords from environment variables."""

from shared.bus.users import USERS, server_configuration

HEAD = """\
# Written by scripts/generate.py from shared/services.py: change that, not this.
# The passwords are the server's environment variables NATS_PASSWORD_PLANNER and so on. A value is read as a piece of
# configuration: let it begin with a letter and hold nothing but letters, digits and _, or put double quotes into it.
"""


def variable(user: str) -> str:
    """The environment variable with this user's password."""
    return f"NATS_PASSWORD_{user.upper()}"


def users_conf() -> str:
    return HEAD + server_configuration({user: f"${variable(user)}" for user in USERS})
