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
        "secrets_dir": "a folder with files named like settings (`nats_url`, `parley_secret`), each with one value: for secrets, because too many "
        "programs can read an environment. The environment takes precedence",
        "nats_url": "NATS, as `nats://user:password@host:4222`, several separated by commas; the user is the service, or `parley`, which has all rights; needs 2.12 or newer with JetStream. `parley up` "
        "starts its own server if this is not set",
        "nats_replicas": "for `parley provision`: copies of each stream; 3 in a cluster. It never lowers the number without `--force`. Services read the number from the stream itself",
        "database_url": "`postgresql://…` or `sqlite:///…`. Empty: a SQLite file in `PARLEY_HOME`",
        "parley_home": "all local state: the log, the database, secrets, logs of `parley up`, which makes it private to the account. Only one `parley up` can use a folder",
        "agent_host": "address that the gateway listens on",
        "agent_port": "its port. 0: any free port",
        "agent_root_path": "the path below which a reverse proxy serves Parley and which it leaves in requests, as in `/tools/parley`. Empty: any path before one of Parley's own is left out",
        "rehearsal_port": "port of the rehearsal model on 127.0.0.1; `parley up` takes another port if it is in use",
        "health_port": "the port on which a worker or plan_store answers `/healthz` and `/readyz`; 0: none. The gateway answers them on its own port",
    },
    "Who may come in": {
        "parley_auth": "`token`, `keys`, `jwt`, or `none` (refused where `AGENT_HOST` is not a loopback address)",
        "parley_token": "with `token`: the login token, at least 16 characters unless `AGENT_HOST` is a loopback address; a new token ends all "
        "logins with the old one. `parley up` makes one at every start if this is not set",
        "parley_token_per_start": "set by `parley up` if it made the token for this start only; logins then outlive the token",
        "parley_secret": "the secret from which the keys that sign cookies and tickets are derived; at least 32 bytes. A new one ends all logins. "
        "`parley up` makes one and keeps it in `PARLEY_HOME`",
        "parley_api_keys": "with `keys`: `alice=key1,bob=key2`; each key has at least 16 characters unless `AGENT_HOST` is a loopback address",
        "parley_jwt_secret": "with `jwt`: the key with which the issuer signs its tokens (HS256); at least 32 bytes. Empty: `PARLEY_SECRET`, which the issuer then also knows",
        "parley_jwt_issuer": "with `jwt`: the `iss` that a token must have. Empty: not checked",
        "parley_jwt_audience": "with `jwt`: the `aud` that a token must have. Empty: a token must have none",
        "parley_jwt_max_lifetime": "with `jwt`: the longest remaining lifetime of a token in seconds (by `exp`, which every token must have). 0: no limit",
        "parley_allowed_origins": "origins of other pages that may use this gateway, separated by commas",
        "max_failed_logins_per_minute": "wrong tokens or keys from one address (an IPv6 network of 64 bits counts as one), "
        "after which it has to wait. 0: no limit",
        "trusted_proxies": "addresses or networks (`10.0.0.0/8`) of reverse proxies, separated by commas, whose `X-Forwarded-For` and "
        "`X-Forwarded-Proto` are trusted; from other clients they are ignored",
        "request_timeout": "seconds in which the head of a request has to arrive, then its body, and in which a client has "
        "to read part of its response; after that, 408 or a closed connection",
        "max_idle_connections": "connections of one gateway on which no request is under way; beyond the limit, the one that has waited "
        "longest is closed. Between two requests one is kept for 75 seconds, which is longer than proxies keep theirs",
    },
    "What one user may take": {
        "max_requests_per_second": "requests over REST and messages over sockets together, with bursts of three times as many; each 64 KiB "
        "of a response also count as one",
        "max_sockets_per_user": "open sockets",
        "max_open_sessions_per_user": "open sessions on these sockets",
        "max_running_sessions_per_user": "sessions that services work on, from a message that starts work until all of it is done",
        "max_pending_requests_per_user": "requests to `/api/chat` and `/api/planning/plan` that wait for their sessions",
        "max_pending_requests": "the same, of all users",
        "max_stored_bytes_per_day": "bytes that the user's messages may store at once, and the same amount again over a day",
        "max_send_buffer_bytes_per_user": "unread bytes buffered for the user's clients; beyond the limit, the socket with the most is closed",
        "max_send_buffer_bytes": "the same, of all users",
    },
    "The model": {
        "openai_base_url": "an OpenAI-compatible server, with its `/v1`. Empty, with no key either: the rehearsal model",
        "openai_api_key": "its key; without a URL, OpenAI's own server is used",
        "openai_model": "the model's name there. Empty: `gpt-5-mini` at OpenAI, elsewhere the first model that the server lists",
        "internlm_api_url": "InternLM behind lmdeploy, without `/v1`; used if no `OPENAI_…` is set",
        "internlm_api_key": "its key; without a URL, a server on port 23333 of this machine is used",
        "parley_models": 'a model for each role, or role and quality, as JSON: `{"planner": "big", "planner.economy": "small"}`. A request can name only these and `OPENAI_MODEL`',
        "parley_temperatures": 'a temperature for each role, as JSON: `{"planner": 0.7}`',
        "parley_prices": "US dollars for a million prompt, cached and completion tokens, by model, as JSON: "
        '`{"big": [1.25, 0.125, 10]}`. Without prices, cost is 0 and a `cost_budget` has no effect',
        "parley_embedding_model": "the model for `/v1/embeddings` there, so that earlier sessions are recalled by meaning too. "
        "Empty: by words only",
        "model_timeout": "total seconds for one call, even if the reply keeps coming",
        "model_silence_timeout": "seconds without anything from the server (text, thoughts or a keep-alive), also before the first word, after which a call is cancelled",
        "model_transcript_limit": "tokens of the conversation in a prompt, counted as 4 bytes each; when it has more, its oldest part is left out, down to half",
        "model_max_attempts": "attempts of a call with transient failures (429, 5xx, timeouts, cut replies)",
        "model_max_wait": "seconds that the server may ask to wait (`Retry-After`, or in the words of its error), which the session then shows. A call that is to "
        "wait longer fails at once, with the server's words",
        "model_outage_timeout": "seconds to wait for an unreachable endpoint before the session fails",
        "model_concurrency": "concurrent calls in one process",
        "model_max_message_bytes": "maximum size of one event of a stream, or of an unstreamed reply",
        "model_max_response_bytes": "maximum size of everything sent for one call",
    },
    "Tools": {
        "retail_database_url": "the retail store's database. Empty: the sessions' database if that is PostgreSQL, else a "
        "SQLite file of its own in `PARLEY_HOME`",
        "parley_retail_data_dir": "a folder with `users.json`, `orders.json` and `products.json` to begin the store with. Empty: "
        "the generated store",
        "parley_packs_dir": "a folder with packs of tools of your own: `*.py` modules and packages with a `parley.Pack` (your own "
        "code: it runs in the executor)",
        "parley_step_executors": "step executors of installed packages (entry points of `parley.step_executors`), with commas, that run steps of execution "
        "plans; if two handle the same tool, the first does. Your own code: it runs in the executor. [More](extending.md#step-executors)",
        "parley_plan_generators": "who may draft execution plans, with commas: `model` is Parley's own, others are entry points of `parley.plan_generators`. "
        "The first is the default. Your own code: it runs in the planner. [More](extending.md#plan-generators)",
        "parley_mcp_config": 'a JSON file that names MCP servers, whose tools the executor then offers: `{"mcpServers": {"files": {"command": "…", '
        '"args": ["…"]}, "shop": {"url": "…"}}}`',
        "mcp_max_message_bytes": "maximum size of a message from an MCP server; a server that sends more is disconnected",
        "parley_http_allow": "servers that tools may send HTTP requests to, as JSON: "
        '`[{"origin": "https://api.example.org", "methods": ["GET", "POST"], "headers": {"Authorization": "Bearer ${EXAMPLE_TOKEN}"}}]`; '
        "each `${NAME}` is a variable of the executor's environment. Empty: no such tools. [More](tools.md#requests-over-http)",
    },
    "Flows": {
        "parley_flows_dir": "a folder with flows of your own: `*.yaml` files, and `*.py` modules with subclasses of `Flow` (your own code: "
        "it runs in the executor)",
        "parley_sql_database_url": "the database that answers questions: `sqlite:///…` or `postgresql://…`, opened read-only. Empty: the "
        "tables of the retail store",
        "parley_sql_hidden": "tables and columns that are never shown and that no query can read, separated by commas; `*` matches any part of a "
        "name: `users.email, secrets, *.password`",
        "parley_sql_max_rows": "rows that one query may return",
        "parley_sql_timeout": "seconds that one query may take",
        "path_cache_size": "planned paths that a planner caches for the same request in the same state; 0: no cache",
    },
    "The bus": {
        "ack_wait": "seconds after which a message without a heartbeat is redelivered; heartbeats are sent three times as often. "
        "Read when consumers are created",
        "max_deliver": "deliveries of a message that crashes its worker, before it becomes a dead letter",
        "worker_concurrency": "messages that one process handles concurrently; one user alone gets half of the executor's",
        "stuck_work_timeout": "seconds after which plan_store fails work that has no result and that no consumer is processing; it can be retried",
        "watchdog_timeout": "seconds for which a service's event loop may be blocked before its watchdog ends the process, which is then restarted; "
        "0: never, for debugging",
        "graceful_timeout": "seconds for running work to finish after SIGTERM; `parley up` allows at most 3",
    },
    "What can be seen from outside": {
        "log_level": "`DEBUG`, `INFO`, `WARNING` or `ERROR`; logs are JSON lines on stderr",
        "otel_exporter_otlp_endpoint": "a collector for traces as OTLP over HTTP, like `http://127.0.0.1:4318`. Empty: no traces. "
        "OpenTelemetry's other variables (sampling, headers, certificates) are read by its library: docs/observability.md",
        "parley_metrics_token": "the token that Prometheus sends to the gateway's `/metrics` as `Authorization: Bearer …`, at least as long as a "
        "login token. The operator, the user of `token` and `none`, needs none",
    },
}

ABOUT = {
    "What one user may take": "Each gateway counts for itself, from its start. With `PARLEY_AUTH` `token` or `none` all clients are the one user `local`. "
    "Beyond a limit the answer is `slow_down` (429), which says when to try again; 0: no limit.",
}


def settings_md() -> str:
    """Raises LookupError for a setting without a description, or a description without a setting."""
    described = {name for group in GROUPS.values() for name in group}
    if differ := described ^ Settings.model_fields.keys():
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
