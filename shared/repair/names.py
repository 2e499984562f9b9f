"""Fields by another spelling: which of the given names can only mean which of the schema's."""

import re
from collections.abc import Callable, Collection, Hashable, Iterable

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_EMPTY = frozenset({"id", "code", "number", "value", "list", "method"})  # words that do not tell two fields apart


def matched(given: Collection[str], known: Collection[str], required: Collection[str]) -> dict[str, str]:
    """Given name -> the schema's name for it, where just one of each fits; names that are right are not in it."""
    renamed: dict[str, str] = {}
    for alike, targets in ((_letters, known), (_singular, known), (_core, required)):
        strange = [name for name in given if name not in known and name not in renamed]
        free = [name for name in targets if name not in given and name not in renamed.values()]
        renamed |= _pairs(strange, free, alike)
    strange = [name for name in given if name not in known and name not in renamed]
    lacking = [name for name in required if name not in given and name not in renamed.values()]
    if len(lacking) == 1:  # with a word more: "cancel_reason" for "reason"
        wanted = set(_core(lacking[0]))
        longer = [name for name in strange if wanted and wanted < set(_core(name))]
        if len(longer) == 1:
            renamed[longer[0]] = lacking[0]
    return renamed


def _pairs(strange: list[str], free: list[str], alike: Callable[[str], Hashable]) -> dict[str, str]:
    """Each strange name with the free one that is alike, where there is one of either."""
    fitting, rivals = _by_key(free, alike), _by_key(strange, alike)
    return {
        names[0]: fitting[key][0]
        for key, names in rivals.items()
        if key and len(names) == 1 and len(fitting.get(key, ())) == 1
    }


def _by_key(names: Iterable[str], key: Callable[[str], Hashable]) -> dict[Hashable, list[str]]:
    found: dict[Hashable, list[str]] = {}
    for name in names:
        found.setdefault(key(name), []).append(name)
    return found


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^0-9a-z]+", _CAMEL.sub("_", name).lower()) if word]


def _letters(name: str) -> str:
    return "".join(_words(name))


def _singular(name: str) -> tuple[str, ...]:
    return tuple(word.removesuffix("s") for word in _words(name))


def _core(name: str) -> tuple[str, ...]:
    """The words that carry the meaning: ("order",) for both order_id and orderNumber."""
    return tuple(word for word in _singular(name) if word not in _EMPTY)
