"""Path and query parameters that several routes share."""

from typing import Annotated

from fastapi import Path, Query

from parley.events.values import SESSION_ID

SessionId = Annotated[str, Path(pattern=SESSION_ID)]
ActionId = Annotated[str, Path(min_length=1, max_length=64)]
Version = Annotated[int, Path(ge=1, le=2**48)]
From = Annotated[int, Query(alias="from", ge=1, le=2**48)]
To = Annotated[int, Query(alias="to", ge=1, le=2**48)]
OfSession = Annotated[str | None, Query(pattern=SESSION_ID)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000)]
