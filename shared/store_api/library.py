"""The library: accepted answers with the paths that led to them, and the nodes that planners wished for."""

from typing import Annotated

from pydantic import Field

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
    """The accepted answers whose request shares the most words with `query`, best first; `saved`: only saved ones.

    `workflow`: only those of this one; "": of all.
    """

    user: User
    query: Question
    workflow: str = ""
    saved: bool = False
    limit: Annotated[int, Field(ge=1, le=100)] = 5


class ListProposals(Message):
    """The nodes that planners wished for in this user's own sessions, newest first."""

    user: User
    limit: Limit = 50
    offset: Offset = 0
