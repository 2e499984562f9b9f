"""The secrets and environment variables that each program gets: only those that it uses.

`parley up` and `parley secrets` apply this; `shared.services` declares what each service needs.
"""

from pydantic import SecretStr

from shared.environment import with_secret_files
from shared.services import MODEL_KEYS, OPERATOR, OPERATOR_SECRETS, SERVICES
from shared.settings import Settings

SECRETS_OF: dict[str, tuple[str, ...]] = {  # NATS user: the secret settings that it reads
    **{name: ("nats_url", *spec.secrets) for name, spec in SERVICES.items()},
    OPERATOR: ("nats_url", *OPERATOR_SECRETS),
}
# A URL may contain a password.
MODEL_URLS = ("openai_base_url", "internlm_api_url")
TRACES_URL = "otel_exporter_otlp_endpoint"
CONFIDENTIAL = {
    *(name for names in SECRETS_OF.values() for name in names),
    *(name for name, field in Settings.model_fields.items() if field.annotation is SecretStr),
    *(*MODEL_URLS, TRACES_URL, "secrets_dir"),
}

# Variables that are not settings, but that the interpreter and libraries read.
_PLAIN = (
    *(
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TMP",
        "TEMP",
        "HOSTNAME",
    ),
    *("VIRTUAL_ENV", "NO_COLOR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "LOCALE_ARCHIVE"),
)
_PLAIN_PREFIXES = ("LC_", "LD_", "DYLD_", "PYTHON", "SSL_", "XDG_", "MALLOC_", "COVERAGE_")
_TRACES = ("OTEL_",)
_DATABASE = ("PG",)  # asyncpg
_MODEL = ("OPENAI_", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


def environment_for(program: str, **overrides: str) -> dict[str, str]:
    """The complete environment of `program`: the variables that it may know, with `overrides` applied.

    Only the executor also gets variables that Parley does not know, as the file of MCP servers and user-defined flows
    may name any. It does not get another service's secrets.
    """
    names = SECRETS_OF.get(program, ())
    prefixes = (
        *_PLAIN_PREFIXES,
        *(_TRACES if names else ()),
        *(_DATABASE if "database_url" in names else ()),
        *(_MODEL if MODEL_KEYS[0] in names else ()),
    )
    permitted = {*names, *(MODEL_URLS if MODEL_KEYS[0] in names else ()), *([TRACES_URL] if names else ())}

    def may_know(variable: str) -> bool:
        setting = variable.lower()
        if setting in Settings.model_fields:
            return setting in permitted or setting not in CONFIDENTIAL
        return program == "executor" or variable in _PLAIN or variable.upper().startswith(prefixes)

    environment = with_secret_files(Settings.model_fields) | {"PYTHONUNBUFFERED": "1"} | overrides
    return {name: value for name, value in environment.items() if may_know(name)}
