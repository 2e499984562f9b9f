"""Wiring of the rehearsal model: `python -m rehearsal.app`."""

from pathlib import Path
from typing import Annotated, Any

import uvicorn
from fastapi import Body, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field
from pydantic_settings import BaseSettings

from rehearsal import openai_schema
from rehearsal.examples import INTRODUCTION
from rehearsal.faults import Fault
from rehearsal.server import RehearsalModel

PACE = 0.01  # seconds before each of at most 40 chunks


class RehearsalSettings(BaseSettings):
    """The environment variables that this program reads; a container and `parley up` set them."""

    agent_host: str = "127.0.0.1"
    rehearsal_port: int = Field(23333, ge=0, le=65535)
    log_level: str = "INFO"
    rehearsal_ledger: Path | None = None  # a file to which every request and its outcome are appended


def build(*, pace: float = PACE, ledger: Path | None = None) -> FastAPI:
    """The application; `pace` is the pause in seconds before each of at most 40 chunks of a reply."""
    app = FastAPI(title="Parley's rehearsal model", description=INTRODUCTION)
    model = RehearsalModel(pace, ledger)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        entry = {"id": openai_schema.MODEL_ID, "object": "model", "created": 0, "owned_by": "parley"}
        return {"object": "list", "data": [entry | {"description": INTRODUCTION}]}

    @app.post("/v1/chat/completions")
    async def complete(body: openai_schema.CompletionRequest, request: Request) -> Response:
        return await model.complete(body, request)

    @app.post("/v1/embeddings")
    async def embed() -> Response:
        """Vectors made by rules would find what has the same words, which full-text search does better."""
        why = "The rehearsal model has no embeddings: set PARLEY_EMBEDDING_MODEL and OPENAI_BASE_URL for some."
        return JSONResponse({"error": {"message": why, "type": "not_found_error", "code": "model_not_found"}}, 404)

    @app.post("/faults")
    async def arm(fault: Annotated[Fault, Body()]) -> list[Fault]:
        model.faults.arm(fault)
        return model.faults.armed

    @app.delete("/faults", status_code=204)
    async def clear() -> None:
        model.faults.clear()

    @app.get("/calls")
    async def calls() -> list[Any]:
        return list(model.calls.recent)

    return app


def main() -> None:
    """Serve until SIGTERM or Ctrl-C."""
    settings = RehearsalSettings()
    uvicorn.run(
        build(ledger=settings.rehearsal_ledger),
        host=settings.agent_host,
        port=settings.rehearsal_port,
        log_level=settings.log_level.lower(),
        access_log=False,
        timeout_keep_alive=75,  # longer than a client reuses a connection, or it might send as we close it
        timeout_graceful_shutdown=1,  # a reply that hangs as a fault must not delay the exit
    )


if __name__ == "__main__":
    main()
