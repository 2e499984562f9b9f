"""What each program may know: secrets go to the programs that use them, and to no other.

`parley up` and `parley secrets` in containers follow it; what a service needs is in `shared.services`.
"""

from pydantic import SecretStr

from shared.environment import inherited
from shared.services import MODEL_KEYS, OPERATOR, OPERATOR_SECRETS, SERVICES
from shared.settings import Settings

SECRETS_OF: dict[str, tuple[str, ...]] = {  # a user on NATS: the settings with secrets that it reads
    **{name: ("nats_url", *spec.secrets) for name, spec in SERVICES.items()},
    OPERATOR: ("nats_url", *OPERATOR_SECRETS),
}
# A URL may carry a password, too.
MODEL_URLS = ("openai_base_url", "internlm_api_url")
TRACES_URL = "otel_exporter_otlp_endpoint"
CONFIDENTIAL = {
    *(name for names in SECRETS_OF.values() for name in names),
    *(name for name, field in Settings.model_fields.items() if field.annotation is SecretStr),
    *(*MODEL_URLS, TRACES_URL, "secrets_dir"),
}

# Variables that are no settings: the interpreter, the system's libraries and the ones below read them.
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
    """The whole environment of `program`: what it may know of ours, with these settings in place.

    The executor alone also gets variables that nobody here knows: the file of MCP servers and flows of one's own may
    name any. It gets no other service's secrets either.
    """
    names = SECRETS_OF.get(program, ())
    prefixes = (
        *_PLAIN_PREFIXES,
        *(_TRACES if names else ()),
        *(_DATABASE if "database_url" in names else ()),
        *(_MODEL if MODEL_KEYS[0] in names else ()),
    )
    known = {*names, *(MODEL_URLS if MODEL_KEYS[0] in names else ()), *([TRACES_URL] if names else ())}

    def may_know(variable: str) -> bool:
        setting = variable.lower()
        if setting in Settings.model_fields:
            return setting in known or setting not in CONFIDENTIAL
        return program == "executor" or variable in _PLAIN or variable.upper().startswith(prefixes)

    ours = inherited(Settings.model_fields) | {"PYTHONUNBUFFERED": "1"} | overrides
    return {name: value for name, value in ours.items() if may_know(name)}
