"""The client: one typed question to any OpenAI-compatible server, with bounded tries."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx2
import structlog
from openai import APIStatusError
from pydantic import BaseModel

from parley.events.values import CallOutcome, ModelCall
from shared.llm.endpoint import openai_client
from shared.llm.errors import ModelFailed, ModelMisconfigured, ModelUnreachable
from shared.llm.faults import BadReply, Names, Passing, Rejected, sort_fault
from shared.llm.parsing import parse_reply
from shared.llm.schema import Ability, demand, instructed, response_format
from shared.llm.stream import Draft, collect
from shared.llm.types import BeforeCall, Message, OnCall, OnPartial, Role
from shared.llm.usage import Tokens, cost, estimate
from shared.llm.watched import watched_call
from shared.settings import Settings
from shared.telemetry import metrics

log = structlog.get_logger("llm")
DEFAULT_MODEL = "gpt-5-mini"
REPAIRS = 2
REPAIR_ECHO = 20_000  # characters of an invalid reply that are sent back
CONNECT_TIMEOUT = 5.0
LONGEST_WAIT = 8.0
_RANDOM = random.SystemRandom()


@dataclass(frozen=True)
class _Question[R: BaseModel]:
    role: Role
    model: str
    messages: Sequence[Message]
    reply: type[R]
    before_call: BeforeCall | None
    on_call: OnCall
    on_partial: OnPartial | None
    temperature: float | None = None
    refuse: Callable[[R], str] | None = None


@dataclass
class _Try:
    """One HTTP call under way."""

    attempt: int
    messages: Sequence[Message]
    draft: Draft = field(default_factory=Draft)
    started: float = field(default_factory=time.monotonic)
    outcome: CallOutcome = "failed"

    def tokens(self) -> Tokens:
        if (counted := self.draft.tokens()) is not None:
            return counted
        if self.draft.refused:
            return Tokens()
        return Tokens(estimate(message["content"] for message in self.messages), 0, self.draft.estimated_tokens())


class OpenAIModel:
    """A `Model` over HTTP. Without a configured endpoint it talks to the rehearsal model on this machine.

    An HTTP call ends after `settings.model_silence_timeout` seconds in which nothing comes, and after
    `settings.model_timeout` seconds in all. `settings.model_concurrency` of them run at once. A question survives
    `settings.model_max_attempts` - 1 passing faults and two invalid replies. `first_wait` is the first pause in
    seconds, doubled after each fault.
    """

    def __init__(
        self, settings: Settings, *, http_client: httpx2.AsyncClient | None = None, first_wait: float = 0.5
    ) -> None:
        self._settings = settings
        self._first_wait = first_wait
        self._slots = asyncio.Semaphore(settings.model_concurrency)
        self._abilities: dict[
            tuple[str, str], Ability
        ] = {}  # by model and reply: one refused schema says little of others
        self._default_model = ""
        self._names = _names(settings)
        self._client = openai_client(
            settings,
            base_url=settings.model_url or f"http://127.0.0.1:{settings.rehearsal_port}/v1",
            timeout=httpx2.Timeout(settings.model_timeout, connect=CONNECT_TIMEOUT),
            http_client=http_client,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask[R: BaseModel](  # noqa: PLR0913  a question has as many sides
        self,
        role: Role,
        messages: Sequence[Message],
        reply: type[R],
        *,
        quality: str = "",
        model: str = "",
        temperature: float | None = None,
        refuse: Callable[[R], str] | None = None,
        before_call: BeforeCall | None = None,
        on_call: OnCall,
        on_partial: OnPartial | None = None,
    ) -> R:
        """See `Model.ask`."""
        chosen = await self._named(model) if model else await self._model(role, quality)
        question = _Question(role, chosen, messages, reply, before_call, on_call, on_partial, temperature, refuse)
        ability = self._abilities.get((question.model, reply.__name__), Ability())
        repair: list[Message] = []
        faults = repairs = 0
        for attempt in count(1):
            try:
                return await self._call(question, ability, repair, attempt)
            except Rejected as fault:
                ability = _adapted(ability, fault)
            except BadReply as fault:
                repairs += 1
                if repairs > REPAIRS:
                    raise ModelFailed(f"the model's reply is not valid: {fault.reason}", raw=fault.raw) from fault
                ability = (ability.weaker() or ability) if fault.prose else ability
                repair = _repair(fault, reply)
            except Passing as fault:
                faults += 1
                if faults >= self._settings.model_max_attempts:
                    raise ModelFailed(f"{fault.reason} (tried {faults} times)", raw=fault.raw) from fault
                await asyncio.sleep(self._pause(faults, fault))
        raise AssertionError("unreachable: count() does not end")

    async def _call[R: BaseModel](
        self, question: _Question[R], ability: Ability, repair: Sequence[Message], attempt: int
    ) -> R:
        """One HTTP call, reported whatever becomes of it."""
        async with self._slots:  # waiting for a slot is no call yet
            if question.before_call:
                await question.before_call()
            one = _Try(attempt, [*instructed(question.messages, question.reply, ability.mode), *repair])
            with watched_call(question.model, question.role, self._client.base_url.host) as seen:
                try:
                    await self._stream(question, ability, one)
                    one.outcome = "invalid"
                    # in a thread: to mend a long reply can take a second, which nobody else should wait for
                    found = await asyncio.to_thread(parse_reply, one.draft.text, question.reply)
                    if question.refuse and (why := question.refuse(found)):
                        raise BadReply(why, raw=one.draft.text)
                    one.outcome = "ok"
                except BadReply:
                    one.outcome = "invalid"
                    raise
                except asyncio.CancelledError:
                    one.outcome = "cancelled"
                    raise
                finally:
                    if one.outcome == "ok":  # what led to nothing teaches nothing: the next question begins afresh
                        self._learn(question, ability)
                    call = self._bill(question, one)
                    seen(call)
                    await question.on_call(call)
        if question.on_partial:
            await question.on_partial(found.model_dump(mode="json"))
        return found

    def _learn[R: BaseModel](self, question: _Question[R], ability: Ability) -> None:
        """Remember what the endpoint understands; a mode that had to be given up is logged and counted once."""
        key = (question.model, question.reply.__name__)
        known = self._abilities.get(key, Ability())
        self._abilities[key] = ability
        if ability.mode != known.mode:
            log.warning("reply_mode_downgraded", model=key[0], reply=key[1], mode=ability.mode)
            metrics.DOWNGRADES.labels(model=key[0], reply=key[1], mode=ability.mode).inc()

    def _bill[R: BaseModel](self, question: _Question[R], one: _Try) -> ModelCall:
        tokens = one.tokens()
        return ModelCall(
            model=question.model,
            role=question.role,
            prompt_tokens=tokens.prompt,
            cached_tokens=tokens.cached,
            completion_tokens=tokens.completion,
            cost=cost(self._settings.parley_prices, question.model, tokens),
            latency=time.monotonic() - one.started,
            attempt=one.attempt,
            outcome=one.outcome,
            estimated=one.draft.usage is None,
        )

    async def _stream[R: BaseModel](self, question: _Question[R], ability: Ability, one: _Try) -> None:
        create: Any = self._client.chat.completions.create  # its overloads do not take options put together at run time
        try:
            async with (
                asyncio.timeout(self._settings.model_timeout),
                _silence(self._settings.model_silence_timeout) as heard,
            ):
                stream = await create(**self._options(question, ability), messages=one.messages, stream=True)
                await collect(stream, one.draft, question.on_partial, heard)
        except Exception as error:
            fault = sort_fault(error, names=self._names)
            one.draft.refused = isinstance(error, APIStatusError) or isinstance(fault, ModelUnreachable)
            if isinstance(fault, Passing) and not fault.raw:
                fault.raw = one.draft.text
            raise fault from (None if fault is error else error)

    def _options[R: BaseModel](self, question: _Question[R], ability: Ability) -> dict[str, Any]:
        options: dict[str, Any] = {"model": question.model}
        if shape := response_format(question.reply, ability.mode):
            options["response_format"] = shape
        if ability.stream_options:
            options["stream_options"] = {"include_usage": True}
        temperature = self._settings.parley_temperatures.get(question.role, question.temperature)
        if ability.temperature and temperature is not None:
            options["temperature"] = temperature
        return options

    async def _model(self, role: Role, quality: str = "") -> str:
        """The model for this role and quality; where none is named, the endpoint's first, asked for once."""
        models = self._settings.parley_models
        return models.get(f"{role}.{quality}") or models.get(role) or await self._usual()

    async def _usual(self) -> str:
        """The model where none is named for a role."""
        if named := self._settings.openai_model or self._default_model:
            return named
        if self._client.base_url.host != "api.openai.com":  # its list is long and its order means nothing
            self._default_model = await self._first_model()
        return self._default_model or DEFAULT_MODEL

    async def _named(self, name: str) -> str:
        """The model of this name, if the operator has configured it for any role. Raises ModelMisconfigured."""
        configured = {*self._settings.parley_models.values(), await self._usual()}
        if name in configured:
            return name
        known = ", ".join(sorted(configured))
        raise ModelMisconfigured(f"the model “{name[:100]}” is not configured here. These can be named: {known}.")

    async def _first_model(self) -> str:
        """The first model the endpoint lists, "" where it lists none or cannot list."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                page = await self._client.models.list()
                return next((model.id for model in page.data or []), "")
        except Exception as error:
            fault = sort_fault(error, names=self._names)
            if isinstance(fault, ModelUnreachable):
                raise fault from error
            return ""

    def _pause(self, faults: int, fault: Passing) -> float:
        """Seconds until the next try: what the server asks for, else a doubling wait with jitter."""
        longest = min(self._first_wait * 2 ** (faults - 1), LONGEST_WAIT)
        return fault.wait if fault.wait is not None else _RANDOM.uniform(longest / 2, longest)


def _adapted(ability: Ability, fault: Rejected) -> Ability:
    if weaker := ability.without(fault.reason):
        return weaker
    raise ModelFailed(f"the endpoint rejects the request: {fault.reason}", retryable=False) from fault


@asynccontextmanager
async def _silence(seconds: float) -> AsyncIterator[Callable[[], None]]:
    """Raises Passing once nothing was heard for so long; what it yields is called whenever something is."""
    clock = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(seconds) as quiet:
            yield lambda: quiet.reschedule(clock() + seconds)
    except TimeoutError as error:
        if not quiet.expired():
            raise
        raise Passing(f"the model did not answer in time: nothing came for {seconds:g} seconds") from error


def _repair(fault: BadReply, reply: type[BaseModel]) -> list[Message]:
    """What is added to the prompt after an invalid reply: the reply, unless it ran away, and what is wrong with it."""
    said = "(too long)" if fault.cut else fault.raw[:REPAIR_ECHO] or "(nothing)"
    return [
        {"role": "assistant", "content": said},
        {"role": "user", "content": f"That reply cannot be used:\n{fault.reason}\n\n{demand(reply)}"},
    ]


def _names(settings: Settings) -> Names:
    openai = settings.openai_base_url or settings.openai_api_key.get_secret_value()
    if settings.model_url and not openai:
        return Names("INTERNLM_API_URL", "INTERNLM_API_KEY", secret=settings.model_key)
    return Names("OPENAI_BASE_URL", "OPENAI_API_KEY", secret=settings.model_key)
