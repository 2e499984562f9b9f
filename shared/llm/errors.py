"""Errors from calling a model, one class per cause.

ModelError
├── ModelUnreachable     the endpoint cannot be reached: wait, then retry
├── ModelFailed          error statuses, late or invalid replies, after all attempts of the client
└── ModelMisconfigured   wrong key, address or model name: change the setting that the reason names
"""


class ModelError(Exception):
    """`reason` says in a sentence what went wrong and what to do. `raw` is the model's reply so far, for the user.

    `retryable`: whether the user's retry can help.
    """

    def __init__(self, reason: str, *, raw: str = "", retryable: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw
        self.retryable = retryable


class ModelUnreachable(ModelError):
    """Connection refused, unknown host, no route. The model client does not retry: its caller waits and retries."""


class ModelFailed(ModelError):
    """Timeouts, 429, 5xx, truncated or invalid replies, after every allowed attempt of the model client."""


class ModelMisconfigured(ModelError):
    """The endpoint refuses the configuration: a retry cannot help."""

    def __init__(self, reason: str, *, raw: str = "") -> None:
        super().__init__(reason, raw=raw, retryable=False)
