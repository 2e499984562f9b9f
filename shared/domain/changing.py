"""`replace` for the session's frozen dataclasses: one dictionary copied, where the library's sets fifty fields anew.

Every fact replaces several times, and everybody folds every fact: it was nearly all that folding cost. The classes it
is for have neither slots nor a `__post_init__`. Type checkers see the library's, and check names and types as ever.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import replace
else:

    def replace(whole: Any, /, **changes: Any) -> Any:
        """A copy with these fields changed. Raises TypeError for one that there is not."""
        fields = vars(whole)
        merged = fields | changes
        if len(merged) > len(fields):
            raise TypeError(f"{type(whole).__name__} has no {', '.join(sorted(changes.keys() - fields.keys()))}")
        changed = object.__new__(type(whole))
        object.__setattr__(changed, "__dict__", merged)
        return changed


__all__ = ["replace"]
