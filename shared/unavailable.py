"""The common base of the errors that say another program is unavailable."""


class Unavailable(Exception):
    """Another program cannot be reached, or cannot answer now: the same request may succeed later.

    A request that changes something may have been carried out.
    """
