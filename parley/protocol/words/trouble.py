"""What did not work, as far as a screen words it itself: the gateway's refusals come in words of their own."""

from collections.abc import Mapping

TROUBLE: Mapping[str, str] = {
    "flows": "The flows can't be shown right now: {why}",
    "list": "The list can't be loaded right now.",
    "logged_in": "You are still logged in. {why}",
    "not_done": "That didn't work",
    "part_failed": "This part of the page can't be shown right now. What you have typed is kept.",
    "reload": "Reload the page",
    "retry_useless": "Retrying won't help until something changes.",
    "result": "The result can't be shown right now: {why}",
    "retrying": "{why} Retrying…",
    "stale": "There is a newer version",
    "stale_shown": "A newer version is shown now.",
    "status": "The server answered with status {status}.",
    "failed_while": "Failed while {stage}",
    "too_large": "The message has {size}; it can have {most}, attachments included.",
    "too_large_here": "The message has {size}, more than this connection takes at once.",
    "too_large_hint": "Remove an attachment, or shorten the text.",
}
