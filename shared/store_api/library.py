"""The library: accepted answers with the paths that led to them, and the nodes that planners wished for."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from shared.store_api.base import Message
from shared.store_api.memories import Question
from shared.store_api.messages import Limit, Offset, User


class ListLibrary(Message):
    """The accepted answers of this user's own sessions, newest first; with `query` what has all its words.

    `saved`: only those that were saved (or not); None: all.
    """

    user: User
    query: Question = ""
    saved: bool | None = None
    limit: Limit = 50
    offset: Offset = 0


class SimilarEntries(Message):
    """The accepted answers whose request shares the most words with `query`, best first; `saved`: only saved ones."""

    user: User
    query: Question
    saved: bool = False
    limit: Annotated[int, Field(ge=1, le=100)] = 5


class LibraryEntry(Message):
    """What one request came to: `round` counts those of its session, from 1, `version` is that of the judgement.

    In round 0 is what a fork took over. `path` is the walked one: where it made no question, no SQL or used no tables,
    these are empty. `answer` is its beginning.
    """

    session_id: str
    round: int
    version: int
    request: str
    flows: tuple[str, ...]
    path: tuple[str, ...]
    question: str
    sql: str
    tables: tuple[str, ...]
    answer: str
    accepted: bool
    saved: bool
    at: AwareDatetime


class LibraryPage(Message):
    items: tuple[LibraryEntry, ...]
    total: int


class ListProposals(Message):
    """The nodes that planners wished for in this user's own sessions, newest first."""

    user: User
    limit: Limit = 50
    offset: Offset = 0


class Proposal(Message):
    """A node that a flow does not have, what it would do, and which request wanted it."""

    session_id: str
    version: int
    flow: str
    name: str
    description: str
    why: str
    request: str
    at: AwareDatetime


class ProposalPage(Message):
    items: tuple[Proposal, ...]
    total: int
