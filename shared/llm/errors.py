"""Errors of models, one class per meaning.

ModelError               reason, raw (the model's reply so far, for the user), retryable
├── ModelUnreachable     the endpoint cannot be reached: wait, then retry
├── ModelFailed          invalid or late replies, after all attempts
└── ModelMisconfigured   wrong key, address or model name: change the setting that the reason names
"""


class ModelError(Exception):
    """Base of the tree; `reason` is a sentence that tells the user what to do."""

    def __init__(self, reason: str, *, raw: str = "", retryable: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw
        self.retryable = retryable


class ModelUnreachable(ModelError):
    """Connection refused, unknown host, no route. The client does not retry: the caller waits and retries."""


class ModelFailed(ModelError):
    """Timeouts, 429, 5xx, cut or invalid replies, after every allowed attempt."""


class ModelMisconfigured(ModelError):
    """The endpoint refuses the configuration: a retry cannot help."""

    def __init__(self, reason: str, *, raw: str = "") -> None:
        super().__init__(reason, raw=raw, retryable=False)
