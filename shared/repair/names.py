"""Matches misspelled field names to the schema's, where only one match is possible."""

import re
from collections.abc import Callable, Collection, Hashable, Iterable

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_GENERIC_WORDS = frozenset({"id", "code", "number", "value", "list", "method"})  # words that do not distinguish fields


def match_names(names: Collection[str], known: Collection[str], required: Collection[str]) -> dict[str, str]:
    """Maps misspelled names to the schema's, where exactly one of each fits. Correct names are left out."""
    if all(name in known for name in names):
        return {}
    renamed: dict[str, str] = {}
    for alike, targets in ((_letters, known), (_singular, known), (_core, required)):
        strange = [name for name in names if name not in known and name not in renamed]
        free = [name for name in targets if name not in names and name not in renamed.values()]
        renamed |= _pairs(strange, free, alike)
    strange = [name for name in names if name not in known and name not in renamed]
    missing = [name for name in required if name not in names and name not in renamed.values()]
    if len(missing) == 1:  # with an extra word: "cancel_reason" for "reason"
        core = set(_core(missing[0]))
        longer = [name for name in strange if core and core < set(_core(name))]
        if len(longer) == 1:
            renamed[longer[0]] = missing[0]
    return renamed


def _pairs(strange: list[str], free: list[str], alike: Callable[[str], Hashable]) -> dict[str, str]:
    """Pairs of an unknown name and a free one with equal keys, where neither has a rival."""
    fitting, rivals = _by_key(free, alike), _by_key(strange, alike)
    return {
        names[0]: fitting[key][0]
        for key, names in rivals.items()
        if key and len(names) == 1 and len(fitting.get(key, ())) == 1
    }


def _by_key(names: Iterable[str], key: Callable[[str], Hashable]) -> dict[Hashable, list[str]]:
    groups: dict[Hashable, list[str]] = {}
    for name in names:
        groups.setdefault(key(name), []).append(name)
    return groups


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^0-9a-z]+", _CAMEL.sub("_", name).lower()) if word]


def _letters(name: str) -> str:
    return "".join(_words(name))


def _singular(name: str) -> tuple[str, ...]:
    return tuple(word.removesuffix("s") for word in _words(name))


def _core(name: str) -> tuple[str, ...]:
    """The distinctive words: ("order",) for both order_id and orderNumber."""
    return tuple(word for word in _singular(name) if word not in _GENERIC_WORDS)
