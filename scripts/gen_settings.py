"""docs/settings.md."""

# ruff: noqa: E501  one line a setting, however long

import json
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from scripts.gen_tables import fill, table
from shared.settings import Settings

GROUPS: dict[str, dict[str, str]] = {
    "Where things are": {
        "secrets_dir": "a folder with files named like settings (`nats_url`, `parley_secret`), each with the value of one: for secrets, which in an "
        "environment are seen by too many. What the environment says wins",
        "nats_url": "NATS, as `nats://user:password@host:4222`, several with commas; the user is the service, or `parley`, who may do all; needs 2.12 or newer with JetStream. `parley up` "
        "starts a server of its own where this is not set",
        "nats_replicas": "for `parley provision`: copies of each stream; 3 in a cluster. It never lowers them without `--force`. Services read from the stream itself how many there are",
        "database_url": "`postgresql://…` or `sqlite:///…`. Empty: a SQLite file in `PARLEY_HOME`",
        "parley_home": "all local state: the log, the database, secrets, logs of `parley up`, which closes it to other accounts. One running `parley up` a folder",
        "agent_host": "address that the gateway listens on",
        "agent_port": "its port. 0: any free one",
        "rehearsal_port": "port of the rehearsal model on 127.0.0.1; `parley up` takes another one if it is in use",
        "health_port": "where a worker or plan_store answers `/healthz` and `/readyz`; 0: nowhere. The gateway has them on its own port",
    },
    "Who may come in": {
        "parley_auth": "`token`, `keys`, `jwt`, or `none` (refused where `AGENT_HOST` is not a loopback address)",
        "parley_token": "with `token`: what people log in with, at least 16 characters unless `AGENT_HOST` is a loopback address; another one ends "
        "the logins by the old one. `parley up` makes one at every start where this is not set",
        "parley_token_per_start": "set by `parley up` where it made the token for this start: then logins outlive it",
        "parley_secret": "what signs cookies and tickets is derived from it, a key for each purpose; at least 32 bytes. Another one ends all logins. "
        "`parley up` makes one and keeps it in `PARLEY_HOME`",
        "parley_api_keys": "with `keys`: `alice=key1,bob=key2`; each key has at least 16 characters unless `AGENT_HOST` is a loopback address",
        "parley_jwt_secret": "with `jwt`: what the issuer signs its tokens with (HS256); at least 32 bytes. Empty: `PARLEY_SECRET`, which then the issuer knows, too",
        "parley_jwt_issuer": "with `jwt`: the `iss` that a token must have. Empty: it is not looked at",
        "parley_jwt_audience": "with `jwt`: the `aud` that a token must have. Empty: a token must have none",
        "parley_jwt_max_lifetime": "with `jwt`: seconds from now within which a token must end (`exp`, which every token must have). 0: whenever it says",
        "parley_allowed_origins": "origins of pages that may use this gateway besides its own, with commas",
        "max_failed_logins_per_minute": "wrong tokens or keys from one address (an IPv6 network of 64 bits counts as one), "
        "after which it has to wait. 0: no limit",
        "trusted_proxies": "addresses or networks (`10.0.0.0/8`) of reverse proxies, with commas, whose `X-Forwarded-For` and "
        "`X-Forwarded-Proto` are believed; nobody else's are",
        "request_timeout": "seconds in which the head of a request has to arrive, and again its body, and in which a client has "
        "to take some of its answer; beyond, 408 or an end",
        "max_idle_connections": "connections of one gateway that have yet to send a request; beyond, the one that has waited "
        "longest is closed",
    },
    "What one user may take": {
        "max_requests_per_second": "requests over REST and messages over sockets, all together, and three times as many at once; of an "
        "answer each 64 KiB count as one, too",
        "max_sockets_per_user": "sockets that are open",
        "max_open_sessions_per_user": "sessions that are open on these sockets",
        "max_running_sessions_per_user": "sessions that services work on, from a message that gives them something to do until nothing is left of it",
        "max_pending_requests_per_user": "requests to `/api/chat` and `/api/planning/plan` that wait for their sessions",
        "max_pending_requests": "the same, of all users",
        "max_stored_bytes_per_day": "bytes that the user's messages may store at once, and again in the course of a day",
        "max_send_buffer_bytes_per_user": "bytes that wait because the user's clients do not read them; beyond, the socket for which most wait ends",
        "max_send_buffer_bytes": "the same, of all users",
    },
    "The model": {
        "openai_base_url": "an OpenAI-compatible server, with its `/v1`. Empty, with no key either: the rehearsal model",
        "openai_api_key": "its key; alone it means OpenAI's own server",
        "openai_model": "the model's name there. Empty: `gpt-5-mini` at OpenAI, elsewhere the first model that is offered",
        "internlm_api_url": "InternLM behind lmdeploy, without `/v1`; used where no `OPENAI_…` is set",
        "internlm_api_key": "its key; alone it means a server on port 23333 of this machine",
        "parley_models": 'a model for each role, or role and quality, as JSON: `{"planner": "big", "planner.economy": "small"}`. A request can name one of these, or `OPENAI_MODEL`, and no other',
        "parley_temperatures": 'a temperature for each role, as JSON: `{"planner": 0.7}`',
        "parley_prices": "US dollars for a million prompt, cached and completion tokens, by model, as JSON: "
        '`{"big": [1.25, 0.125, 10]}`. Without it cost is 0, and a `cost_budget` never triggers',
        "parley_embedding_model": "the model for `/v1/embeddings` there, so that earlier sessions are recalled by meaning too. "
        "Empty: by their words only",
        "model_timeout": "seconds that one call may take in all, however steadily the reply comes",
        "model_silence_timeout": "seconds without anything new from the model, also before its first word, after which a call is given up",
        "model_max_attempts": "tries of one call that fails in passing (429, 5xx, time-outs, cut replies)",
        "model_outage_timeout": "seconds that an endpoint which cannot be reached is waited for before the session fails",
        "model_concurrency": "calls at once in one process",
        "model_max_message_bytes": "the most that a model server may send as one event of a stream, or as a reply in one piece",
        "model_max_response_bytes": "the most that it may send for one call",
    },
    "Tools": {
        "retail_database_url": "the retail store's database. Empty: where the sessions are if that is PostgreSQL, else a "
        "SQLite file of its own in `PARLEY_HOME`",
        "parley_retail_data_dir": "a folder with `users.json`, `orders.json` and `products.json` to begin the store with. Empty: "
        "the generated store",
        "parley_packs_dir": "a folder with packs of tools of your own: `*.py` modules and packages with a `parley.Pack` (your own "
        "code: it runs in the executor)",
        "parley_step_executors": "step executors of installed packages (entry points of `parley.step_executors`), with commas, that run steps of execution "
        "plans; of two for one tool the first. Your own code: it runs in the executor. [More](execution-plans.md#step-executors)",
        "parley_plan_generators": "who may draft execution plans, with commas: `model` is Parley's own, others are entry points of `parley.plan_generators`. "
        "The first drafts where nobody names another. Your own code: it runs in the planner. [More](execution-plans.md#plan-generators)",
        "parley_mcp_config": 'a JSON file that names MCP servers, whose tools the executor then offers: `{"mcpServers": {"files": {"command": "…", '
        '"args": ["…"]}, "shop": {"url": "…"}}}`',
        "mcp_max_message_bytes": "the most that an MCP server may send as one message; one that sends more is disconnected",
        "parley_http_allow": "servers that tools may send HTTP requests to, as JSON: "
        '`[{"origin": "https://api.example.org", "methods": ["GET", "POST"], "headers": {"Authorization": "Bearer ${EXAMPLE_TOKEN}"}}]`; '
        "each `${NAME}` is a variable of the executor's environment. Empty: there are no such tools. [More](tools.md#requests-over-http)",
    },
    "Flows": {
        "parley_flows_dir": "a folder with flows of your own: `*.yaml` files, and `*.py` modules with subclasses of `Flow` (your own code: "
        "it runs in the executor)",
        "parley_sql_database_url": "the database that questions are asked to: `sqlite:///…` or `postgresql://…`, only ever read. Empty: the "
        "tables of the retail store",
        "parley_sql_hidden": "tables and columns that nobody is shown and no query reads, with commas; `*` stands for any part of a "
        "name: `users.email, secrets, *.password`",
        "parley_sql_max_rows": "rows that one query may return",
        "parley_sql_timeout": "seconds that one query may take",
        "path_cache_size": "planned paths that a planner keeps, for the same request in the same state; 0 plans every time",
    },
    "The bus": {
        "ack_wait": "seconds after which a message that nobody works on is delivered again; heartbeats go out every third of it. "
        "Used when consumers are made",
        "max_deliver": "deliveries until a message that ends its worker each time is a dead letter",
        "worker_concurrency": "messages that one process works on at once",
        "stuck_work_timeout": "seconds after which plan_store fails work that nothing came of and that no consumer has in hand; it can be retried",
        "watchdog_timeout": "seconds for which a service's event loop may be blocked before its watchdog ends the process, and it is started again; "
        "0: never, as for a debugger",
        "graceful_timeout": "seconds that running work may take to end after SIGTERM; `parley up` allows 3 at most",
    },
    "What can be seen from outside": {
        "log_level": "`DEBUG`, `INFO`, `WARNING` or `ERROR`; logs are JSON lines on stderr",
        "otel_exporter_otlp_endpoint": "a collector that takes traces as OTLP over HTTP, like `http://127.0.0.1:4318`. Empty: no traces. "
        "OpenTelemetry's other variables (sampling, headers, certificates) are read by its library: docs/observability.md",
        "parley_metrics_token": "what Prometheus sends to the gateway's `/metrics` as `Authorization: Bearer …`, as long as a "
        "login token. The operator may read it without: that is the user of `token` and `none`",
    },
}

ABOUT = {
    "What one user may take": "Counted by each gateway for itself, from its start. With `PARLEY_AUTH` `token` or `none` everybody is the one user `local`. "
    "Beyond a limit comes `slow_down` (429), which says when to try again; 0: no limit.",
}


def settings_md() -> str:
    """Raises LookupError for a setting without words, or words without a setting."""
    told = {name for group in GROUPS.values() for name in group}
    if differ := told ^ Settings.model_fields.keys():
        raise LookupError(f"scripts/gen_settings.py and shared/settings.py differ in {', '.join(sorted(differ))}")
    parts = []
    for title, group in GROUPS.items():
        rows = [(f"`{name.upper()}`", f"{_default(name)}", text) for name, text in group.items()]
        about = f"{ABOUT[title]}\n\n" if title in ABOUT else ""
        parts.append(f"## {title}\n\n{about}{table(('Variable', 'Default', 'Meaning'), rows)}")
    return fill("settings", groups="\n".join(parts))


def _default(name: str) -> str:
    field = Settings.model_fields[name]
    value: Any = (
        field.default if field.default is not PydanticUndefined else field.get_default(call_default_factory=True)
    )
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if isinstance(value, Path):
        value = str(value)
    if value in ("", (), {}, None):
        return "empty"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"
