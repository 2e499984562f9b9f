"""Requests to plan_store about the library: accepted answers with their paths, and the nodes that planners proposed."""

from typing import Annotated

from pydantic import Field

from parley.events.values import Subject
from parley.protocol.pages import LibraryPage
from shared.store_api.base import StoreMessage
from shared.store_api.memories import Question
from shared.store_api.messages import Limit, Offset, User


class ListLibrary(StoreMessage):
    """The accepted answers of this user's own sessions, newest first; with `query` only those with all its words.

    `saved`: only saved, or only unsaved ones; None: all.
    """

    user: User
    query: Question = ""
    saved: bool | None = None
    limit: Limit = 50
    offset: Offset = 0


class SimilarEntries(StoreMessage):
    """The accepted answers whose request shares the most words with `query`, best first; `saved`: only saved ones.

    `workflow`: only those of this workflow; "": of all. `subject`: also those for sessions about this subject alone.
    """

    user: User
    query: Question
    workflow: str = ""
    saved: bool = False
    limit: Annotated[int, Field(ge=1, le=100)] = 5
    subject: Subject = ""


class SimilarPage(LibraryPage):
    """`compared`: how many entries there were to compare with; None if an older plan_store answers."""

    compared: int | None = None


class ListProposals(StoreMessage):
    """The nodes that planners proposed in this user's own sessions, newest first."""

    user: User
    limit: Limit = 50
    offset: Offset = 0
