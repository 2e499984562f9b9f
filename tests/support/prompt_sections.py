"""The conversation that prompts have room for, and the sections of a prompt."""

import re

from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.transcript.compaction import within
from shared.settings import Settings
from shared.worker.context import BYTES_PER_TOKEN

_SECTION = re.compile(r"^<((\w+)-[0-9a-f]{8})>\n(.*?)\n</\1>$", re.MULTILINE | re.DOTALL)


def sections_of(text: str) -> dict[str, str]:
    """The sections' texts by name, in their order; of several with one name the last."""
    return {name: body for _, name, body in _SECTION.findall(text)}


def as_prompted(session: Session) -> Session:
    """The session with the part of its transcript that prompts have room for, if they hold half of the default."""
    limit = Settings().model_transcript_limit // 2 * BYTES_PER_TOKEN  # so that short stories reach it
    return replace(session, transcript=within(session.transcript, limit))
