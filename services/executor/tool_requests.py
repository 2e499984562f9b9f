"""Answers requests about tools: lists, searches, previews and checks of calls."""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Collection, Sequence, Set
from functools import lru_cache
from typing import NamedTuple

import structlog
from pydantic import ValidationError

from parley import Pack
from parley.protocol.tools import (
    MAX_OTHERS,
    TOOLS_PREVIEWS,
    CheckCalls,
    ListTools,
    PastCall,
    Preview,
    PreviewCall,
    PreviewCalls,
    Previews,
    StepCall,
    ToolPage,
    ToolSpec,
    Violations,
)
from services.executor.sources.nodes import ORIGIN
from services.executor.tools import Registry
from shared.domain.kernel.session import Session
from shared.logging import conceal
from shared.store import SessionLoader
from shared.text import tokenize

K1, B = 1.5, 0.75
ORIGIN_WEIGHT = 2  # weight of the origin's score; the tool's own has weight 1
VALUE_NAMES = {  # what tools call a value that looks like this
    r"\w@\w": "email e mail",
    r"\b\d{5}\b": "zip postal code",
}
log = structlog.get_logger("executor")
PREVIEW_TIMEOUT = 3.0  # per preview of a plan's calls, in seconds


class Ranking(NamedTuple):
    """`ranked`: all tools, best match first, equal scores by name. `matching`: those that share a word with the query
    in their own text; a match of their origin is not enough.
    """

    ranked: list[ToolSpec]
    matching: list[ToolSpec]


def rank(specs: Sequence[ToolSpec], query: str) -> Ranking:
    query_words = set(_words(_expanded(query)))
    documents = [_document(_text(spec)) for spec in specs]
    origins: dict[str, Counter[str]] = {}
    for spec, document in zip(specs, documents, strict=True):
        origins.setdefault(spec.origin, Counter()).update(document)
    origin_scores = dict(zip(origins, _scores(list(origins.values()), query_words), strict=True))
    own_scores = dict(zip((spec.name for spec in specs), _scores(documents, query_words), strict=True))
    totals = {spec.name: own_scores[spec.name] + ORIGIN_WEIGHT * origin_scores[spec.origin] for spec in specs}
    ranked = sorted(specs, key=lambda spec: (-totals[spec.name], spec.name))
    return Ranking(ranked, [spec for spec in ranked if own_scores[spec.name]])


def _scores(documents: Sequence[Counter[str]], query_words: Set[str]) -> list[float]:
    """BM25 of each document for these words."""
    mean = sum(map(Counter.total, documents)) / max(len(documents), 1) or 1  # all may be empty: only stop words
    # sorted, because a set has no fixed order and a sum of floats depends on it
    weights = {word: _rarity(word, documents) for word in sorted(query_words)}

    def score(document: Counter[str]) -> float:
        norm = K1 * (1 - B + B * document.total() / mean)
        return sum(weight * document[word] * (K1 + 1) / (document[word] + norm) for word, weight in weights.items())

    return [score(document) for document in documents]


def _rarity(word: str, documents: Sequence[Counter[str]]) -> float:
    """The inverse document frequency, in the form that is always positive."""
    having = sum(word in document for document in documents)
    return math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))


def _expanded(query: str) -> str:
    """The query with the names of the kinds of values in it."""
    return " ".join((query, *(names for looks, names in VALUE_NAMES.items() if re.search(looks, query))))


@lru_cache(maxsize=2_048)
def _document(text: str) -> Counter[str]:
    """The word counts of a text. Cached: the tools rarely change, and every plan searches them."""
    return Counter(_words(text))


def _words(text: str) -> list[str]:
    """Lower-case words without stop words, stemmed; camelCase is split."""
    return [_stem(word) for word in tokenize(re.sub(r"([a-z])([A-Z])", r"\1 \2", text))]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def _text(spec: ToolSpec) -> str:
    properties = spec.parameters.get("properties")
    parts = [spec.name, spec.name, spec.description]
    for name, field in properties.items() if isinstance(properties, dict) else ():
        parts += (name, str(field.get("description", "")) if isinstance(field, dict) else "")
    return " ".join(parts).replace("_", " ")


class ToolRequests:
    """Answers requests about the registry's tools. `packs` contribute their prompts and rules.

    `tells_subjects`: a pack tells whom calls are about, be it open or not.
    """

    def __init__(
        self, registry: Registry, store: SessionLoader, packs: Collection[Pack] = (), *, tells_subjects: bool = False
    ) -> None:
        self._registry = registry
        self._store = store
        self._packs = packs
        self._tells_subjects = tells_subjects

    async def list(self, _: str, data: bytes) -> bytes:
        """Answer TOOLS_LIST."""
        try:
            ask = ListTools.model_validate_json(data or b"{}")
        except ValidationError:
            ask = ListTools()
        # no nodes of flows: they run only on a path, with the outputs of the nodes before
        specs = [spec for tool in self._registry.all().values() if not (spec := tool.spec).origin.startswith(ORIGIN)]
        if ask.calls_only:
            specs = [spec for spec in specs if spec.waits_for is None]
        if ask.offered:
            specs = [spec for spec in specs if spec.offered]
        if ask.only:
            specs = [spec for spec in specs if spec.name in ask.only]
        ranked, matching = rank(specs, ask.query)
        named = [spec for spec in specs if spec.name in ask.names]
        wanted = [spec for spec in (matching if ask.matching else ranked) if spec not in named]
        chosen = (*named, *wanted[: max(ask.limit - len(named), 0)])
        page = self._page(chosen, [spec.name for spec in ranked])
        tells = any(spec.tells_subjects for spec in specs) or (self._tells_subjects and not ask.only)
        return page.model_copy(update={"tells_subjects": tells}).model_dump_json().encode()

    def _page(self, chosen: tuple[ToolSpec, ...], names: Sequence[str]) -> ToolPage:
        chosen_names = {spec.name for spec in chosen}
        origins = {spec.origin for spec in chosen}
        used = [pack for pack in self._packs if pack.name in origins]
        return ToolPage(
            tools=chosen,
            total=len(names),
            others=tuple(name for name in names if name not in chosen_names)[:MAX_OTHERS],
            world=" ".join(pack.fingerprint for pack in self._packs if pack.fingerprint),
            rules=tuple(words for pack in used for words in (pack.prompt, *pack.rules) if words),
            troubles=self._registry.troubles(),
        )

    async def preview(self, _: str, data: bytes) -> bytes:
        """Answer TOOLS_PREVIEW."""
        try:
            preview = await self._preview(PreviewCall.model_validate_json(data))
        except ValidationError as error:
            preview = Preview(known=False, error=f"This is no call: {error.errors()[0]['msg']}")
        return preview.model_dump_json().encode()

    async def _preview(self, ask: PreviewCall) -> Preview:
        tool = self._registry.find(ask.tool)
        if tool is None:
            return Preview(known=False, error=f"There is no tool “{ask.tool}”.")
        if tool.spec.effect == "read":
            return Preview(known=True)
        if tool.preview is None:
            return Preview(known=False)
        session = (await self._store.load(ask.session_id)).session
        return _without_secrets(await tool.preview(session, ask.arguments))

    async def previews(self, _: str, data: bytes) -> bytes:
        """Answer TOOLS_PREVIEWS. The previews run in parallel, each with its own timeout."""
        try:
            ask = PreviewCalls.model_validate_json(data)
        except ValidationError as error:
            log.warning("bad_request", subject=TOOLS_PREVIEWS, reason=str(error))
            return Previews().model_dump_json().encode()
        session = (await self._store.load(ask.session_id)).session
        previews = await asyncio.gather(*(self._preview_in_time(session, call) for call in ask.calls))
        steps = {
            call.step: preview for call, preview in zip(ask.calls, previews, strict=True) if preview and preview.known
        }
        return Previews(steps=steps).model_dump_json().encode()

    async def _preview_in_time(self, session: Session, call: StepCall) -> Preview | None:
        """The preview of a call; None if the tool has none, fails, or exceeds the timeout."""
        tool = self._registry.find(call.tool)
        if tool is None or tool.preview is None:
            return None
        try:
            async with asyncio.timeout(PREVIEW_TIMEOUT):
                return _without_secrets(await tool.preview(session, call.arguments))
        except Exception:  # a pack's own code, or its server's
            log.exception("preview_failed", tool=call.tool)
            return None

    async def check(self, _: str, data: bytes) -> bytes:
        """Answer TOOLS_CHECK. An invalid request counts as a violation, so that its caller does not proceed."""
        try:
            violations = self._violations(CheckCalls.model_validate_json(data))
        except ValidationError as error:
            violations = (f"These are no calls: {error.errors()[0]['msg']}",)
        return Violations(violations=conceal(violations)).model_dump_json().encode()

    def _violations(self, ask: CheckCalls) -> tuple[str, ...]:
        """The violations of calls in this order. A forbidden call is not made, so later checks do not count it."""
        past = list(ask.past)
        violations: list[str] = []
        for call in ask.calls:
            tool = self._registry.find(call.tool)
            if tool is None or tool.check is None:
                continue
            if reasons := tool.check(call.arguments, past):
                violations += reasons
            else:
                past.append(PastCall(tool=call.tool, arguments=call.arguments, status="planned"))
        return tuple(violations)


def _without_secrets(preview: Preview) -> Preview:
    return Preview.model_validate(conceal(preview.model_dump()))
