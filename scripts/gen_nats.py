"""deploy/nats-users.conf: the users of a NATS server that is not `parley up`'s own, with passwords from variables."""

from shared.bus.users import USERS, configuration

HEAD = """\
# Written by scripts/generate.py from shared/services.py: change that, not this.
# The passwords are the server's environment variables NATS_PASSWORD_PLANNER and so on. A value is read as a piece of
# configuration: let it begin with a letter and hold nothing but letters, digits and _, or put double quotes into it.
"""


def variable(user: str) -> str:
    """The variable with this user's password."""
    return f"NATS_PASSWORD_{user.upper()}"


def users_conf() -> str:
    return HEAD + configuration({user: f"${variable(user)}" for user in USERS})
