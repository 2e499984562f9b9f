"""Why a jail was not closed."""


class Refused(Exception):
    """A layer of the sandbox could not be applied. The text says which, why and what to do."""
