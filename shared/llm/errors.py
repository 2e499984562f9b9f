"""What may go wrong with a model, one class per meaning.

ModelError               reason, raw (the model's reply so far, kept for the person), retryable
├── ModelUnreachable     nobody listens at the endpoint: wait, then ask again
├── ModelFailed          it answered badly or too late, and the bounded tries are spent
└── ModelMisconfigured   key, address or model name are wrong: change the setting the reason names
"""


class ModelError(Exception):
    """Base of the tree; `reason` is one sentence that a person can act on."""

    def __init__(self, reason: str, *, raw: str = "", retryable: bool = True) -> None:
        super().__init__(reason)
        self.reason = reason
        self.raw = raw
        self.retryable = retryable


class ModelUnreachable(ModelError):
    """Connection refused, unknown host, no route. The client does not retry: the caller waits and asks again."""


class ModelFailed(ModelError):
    """Timeouts, 429, 5xx, cut or invalid replies, after every allowed try."""


class ModelMisconfigured(ModelError):
    """The endpoint refuses us as we are: asking again cannot help."""

    def __init__(self, reason: str, *, raw: str = "") -> None:
        super().__init__(reason, raw=raw, retryable=False)
