"""The launcher's error."""


class LayerRefused(Exception):
    """A layer of the sandbox could not be applied. The text says which, why and what to do."""
