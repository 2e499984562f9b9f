"""The model client: a typed request to any OpenAI-compatible server, with bounded attempts."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import httpx2
import structlog
from openai import APIStatusError
from pydantic import BaseModel

from parley.events.values import CallOutcome, ModelCall
from shared.llm.completion import ErrorAnswer, PartialReply, Tokens, cost, estimate
from shared.llm.endpoint import observe_call, openai_client
from shared.llm.errors import ModelFailed, ModelMisconfigured, ModelUnreachable
from shared.llm.faults import InvalidReply, SettingNames, TransientFault, UnsupportedRequest, classify
from shared.llm.parsing import read_reply
from shared.llm.retry_after import asked_wait, duration_text
from shared.llm.schema import Capabilities, chat_messages, instruction, response_format
from shared.llm.stream import collect
from shared.llm.text_objects import without_thoughts
from shared.llm.types import Message, ModelRequest, Role
from shared.settings import Settings
from shared.telemetry import metrics

log = structlog.get_logger("llm")
DEFAULT_MODEL = "gpt-5-mini"
MAX_REPAIRS = 2
MAX_ECHO = 20_000  # characters of an invalid reply that are quoted back to the model
CONNECT_TIMEOUT = 10.0  # seconds
MAX_BACKOFF = 8.0
SHOWN_WAIT = 3.0  # seconds that a server asks to wait, from which on the user is told
_RANDOM = random.SystemRandom()


@dataclass
class _Attempt:
    """One HTTP call in progress."""

    attempt: int
    messages: Sequence[Message]
    draft: PartialReply = field(default_factory=PartialReply)
    started: float = field(default_factory=time.monotonic)
    outcome: CallOutcome = "failed"

    def tokens(self) -> Tokens:
        if self.draft.usage is not None:
            return self.draft.usage
        if self.draft.refused:
            return Tokens()
        return Tokens(estimate(message["content"] for message in self.messages), 0, self.draft.estimated_tokens())


class OpenAIModel:
    """A `Model` over HTTP. Without a configured endpoint it uses the rehearsal model on this machine.

    An HTTP call ends after `settings.model_silence_timeout` seconds without data, and after `settings.model_timeout`
    seconds in all. At most `settings.model_concurrency` run at once. A request survives
    `settings.model_max_attempts` - 1 transient faults and MAX_REPAIRS invalid replies. `first_wait` is the first pause
    in seconds; it doubles after each fault.
    """

    def __init__(
        self, settings: Settings, *, http_client: httpx2.AsyncClient | None = None, first_wait: float = 0.5
    ) -> None:
        self._settings = settings
        self._first_wait = first_wait
        self._slots = asyncio.Semaphore(settings.model_concurrency)
        self._capabilities: dict[
            tuple[str, str], Capabilities
        ] = {}  # by model and reply: one refused schema says little of others
        self._first_listed = ""
        self._setting_names = _setting_names(settings)
        self._client = openai_client(
            settings,
            base_url=settings.model_url or f"http://127.0.0.1:{settings.rehearsal_port}/v1",
            timeout=httpx2.Timeout(settings.model_timeout, connect=CONNECT_TIMEOUT),
            http_client=http_client,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def ask[R: BaseModel](self, request: ModelRequest[R]) -> R:
        """See `Model.ask`."""
        model = await (self._configured(request.model) if request.model else self._model(request.role, request.quality))
        request = replace(request, model=model)
        ability = self._capabilities.get((model, request.reply.__name__), Capabilities())
        repair: list[Message] = []
        faults = repairs = 0
        for attempt in count(1):
            try:
                return await self._call(request, ability, repair, attempt)
            except UnsupportedRequest as fault:
                ability = fault.without
            except InvalidReply as fault:
                repairs += 1
                if repairs > MAX_REPAIRS:
                    raise ModelFailed(f"the model's reply is not valid: {fault.reason}", raw=fault.raw) from fault
                ability = (ability.weaker() or ability) if fault.no_object else ability
                repair = _repair(fault, request.reply)
            except TransientFault as fault:
                faults += 1
                await self._pause(request, faults, fault)
        raise AssertionError("unreachable: count() does not end")

    async def _call[R: BaseModel](
        self, request: ModelRequest[R], ability: Capabilities, repair: Sequence[Message], attempt: int
    ) -> R:
        """Make one HTTP call, and report it however it ends."""
        async with self._slots:  # waiting for a slot is not part of the call
            if request.before_call:
                await request.before_call()
            attempt_state = _Attempt(attempt, chat_messages(request.messages, request.reply, ability, repair))
            with observe_call(request.model, request.role, self._client.base_url.host) as observe:
                try:
                    await self._stream(request, ability, attempt_state)
                    # in a thread: a repair blocks for seconds at worst
                    parsed = await asyncio.to_thread(read_reply, attempt_state.draft, request.reply)
                    if request.refuse and (why := request.refuse(parsed)):
                        raise InvalidReply(why, raw=attempt_state.draft.text)
                    attempt_state.outcome = "ok"
                except InvalidReply:
                    attempt_state.outcome = "invalid"
                    raise
                except ErrorAnswer as error:
                    raise self._fault(error, ability, attempt_state.draft) from error
                except asyncio.CancelledError:
                    attempt_state.outcome = "cancelled"
                    raise
                finally:
                    if attempt_state.outcome == "ok":  # learn only from success
                        self._remember(request, ability)
                    call = self._model_call(request, attempt_state)
                    observe(call)
                    await request.on_call(call)
        if request.on_partial:
            await request.on_partial(parsed.model_dump(mode="json"))
        return parsed

    def _remember[R: BaseModel](self, request: ModelRequest[R], ability: Capabilities) -> None:
        """Remember the endpoint's capabilities. Log and count a downgraded reply mode once."""
        key = (request.model, request.reply.__name__)
        known = self._capabilities.get(key, Capabilities())
        self._capabilities[key] = ability
        if ability.mode != known.mode:
            log.warning("reply_mode_downgraded", model=key[0], reply=key[1], mode=ability.mode)
            metrics.DOWNGRADES.labels(model=key[0], reply=key[1], mode=ability.mode).inc()

    def _model_call[R: BaseModel](self, request: ModelRequest[R], attempt: _Attempt) -> ModelCall:
        tokens = attempt.tokens()
        return ModelCall(
            model=request.model,
            role=request.role,
            prompt_tokens=tokens.prompt,
            cached_tokens=tokens.cached,
            completion_tokens=tokens.completion,
            cost=cost(self._settings.parley_prices, request.model, tokens),
            latency=time.monotonic() - attempt.started,
            attempt=attempt.attempt,
            outcome=attempt.outcome,
            estimated=attempt.draft.usage is None,
        )

    async def _stream[R: BaseModel](self, request: ModelRequest[R], ability: Capabilities, attempt: _Attempt) -> None:
        # the openai package's own types are too strict for what other servers send
        create: Any = self._client.chat.completions.with_streaming_response.create
        options = self._options(request, ability)
        try:
            async with (
                asyncio.timeout(self._settings.model_timeout),
                _silence_timeout(self._settings.model_silence_timeout) as on_data,
                create(**options, messages=attempt.messages, stream=True) as response,
            ):
                fields = request.reply.model_fields
                await collect(response.http_response, attempt.draft, request.on_partial, fields, on_data)
        except Exception as error:
            fault = self._fault(error, ability, attempt.draft)
            if isinstance(fault, TransientFault) and attempt.draft.finish == "stop":
                return  # only the end of the stream is missing
            raise fault from (None if fault is error else error)

    def _fault(self, error: Exception, ability: Capabilities, draft: PartialReply) -> Exception:
        """What the error means; a transient fault with what has arrived, and the wait that the server asks for."""
        fault = classify(error, names=self._setting_names, ability=ability)
        is_answer = isinstance(error, APIStatusError | ErrorAnswer)
        draft.refused = isinstance(fault, ModelUnreachable) or (is_answer and not draft.text)
        if isinstance(fault, TransientFault):
            arrived = error.raw if isinstance(error, ErrorAnswer) else ""
            fault.raw = self._setting_names.hide(fault.raw or draft.text or arrived)
            fault.wait = asked_wait(error)
        return fault

    def _options[R: BaseModel](self, request: ModelRequest[R], ability: Capabilities) -> dict[str, Any]:
        options: dict[str, Any] = {"model": request.model}
        if shape := response_format(request.reply, ability.mode):
            options["response_format"] = shape
        if ability.stream_options:
            options["stream_options"] = {"include_usage": True}
        temperature = self._settings.parley_temperatures.get(request.role, request.temperature)
        if ability.temperature and temperature is not None:
            options["temperature"] = temperature
        return options

    async def _model(self, role: Role, quality: str = "") -> str:
        """The configured model for this role and quality, or the default."""
        models = self._settings.parley_models
        return models.get(f"{role}.{quality}") or models.get(role) or await self._default()

    async def _default(self) -> str:
        """The model for roles without a configured one: a setting, or the endpoint's first, read once."""
        if named := self._settings.openai_model or self._first_listed:
            return named
        if self._client.base_url.host != "api.openai.com":  # its list is long and in no useful order
            self._first_listed = await self._first_model()
        return self._first_listed or DEFAULT_MODEL

    async def _configured(self, name: str) -> str:
        """Return the name if this model is configured for any role. Raises ModelMisconfigured."""
        configured = {*self._settings.parley_models.values(), await self._default()}
        if name in configured:
            return name
        known = ", ".join(sorted(configured))
        raise ModelMisconfigured(f"the model “{name[:100]}” is not configured here. These can be named: {known}.")

    async def _first_model(self) -> str:
        """The first model that the endpoint lists; "" if it lists none or cannot list."""
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                page = await self._client.models.list()
                return next((model.id for model in page.data or []), "")
        except Exception as error:
            fault = classify(error, names=self._setting_names, ability=Capabilities())
            if isinstance(fault, ModelUnreachable):
                raise fault from error
            return ""

    async def _pause[R: BaseModel](self, request: ModelRequest[R], faults: int, fault: TransientFault) -> None:
        """Wait before the next attempt: as long as the server asks, else a doubling time with jitter.

        Raises ModelFailed after the last attempt, and for a wait beyond `settings.model_max_wait`.
        """
        allowed = self._settings.model_max_wait
        if fault.wait is not None and fault.wait > allowed:
            raise ModelFailed(
                f"{fault.reason}. It asks to wait {duration_text(fault.wait)}, and MODEL_MAX_WAIT allows "
                f"{duration_text(allowed)}: retry after that time, raise MODEL_MAX_WAIT, or use another model",
                raw=fault.raw,
            ) from fault
        if faults >= self._settings.model_max_attempts:
            raise ModelFailed(f"{fault.reason} (tried {faults} times)", raw=fault.raw) from fault
        if fault.wait is None:
            longest = min(self._first_wait * 2 ** (faults - 1), MAX_BACKOFF)
            await asyncio.sleep(_RANDOM.uniform(longest / 2, longest))
            return
        on_wait = request.on_wait if fault.wait >= SHOWN_WAIT else None
        if on_wait:
            await on_wait(fault.wait)
        await asyncio.sleep(fault.wait)
        if on_wait:
            await on_wait(0)


@asynccontextmanager
async def _silence_timeout(seconds: float) -> AsyncIterator[Callable[[], None]]:
    """Raise TransientFault after this many seconds without data. Call the yielded function whenever data arrives."""
    clock = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(seconds) as quiet:
            yield lambda: quiet.reschedule(clock() + seconds)
    except TimeoutError as error:
        if not quiet.expired():
            raise
        raise TransientFault(f"the model did not answer in time: nothing came for {seconds:g} seconds") from error


def _repair(fault: InvalidReply, reply: type[BaseModel]) -> list[Message]:
    """Messages to append after an invalid reply: the reply (unless cut) and what is wrong with it."""
    echo = "(too long)" if fault.cut else without_thoughts(fault.raw[:MAX_ECHO]) or "(nothing)"
    return [
        {"role": "assistant", "content": echo},
        {"role": "user", "content": f"That reply cannot be used:\n{fault.reason}\n\n{instruction(reply)}"},
    ]


def _setting_names(settings: Settings) -> SettingNames:
    openai = settings.openai_base_url or settings.openai_api_key.get_secret_value()
    if settings.model_url and not openai:
        return SettingNames("INTERNLM_API_URL", "INTERNLM_API_KEY", secret=settings.model_key)
    return SettingNames("OPENAI_BASE_URL", "OPENAI_API_KEY", secret=settings.model_key)
