"""Language models: typed requests to any OpenAI-compatible server, and scripted models for tests."""

from shared.llm.errors import ModelError, ModelFailed, ModelMisconfigured, ModelUnreachable
from shared.llm.scripted import ModelByTask, Prompt, ScriptedModel
from shared.llm.types import BeforeCall, Message, Model, ModelRequest, OnCall, OnPartial, Role

__all__ = [
    "BeforeCall",
    "Message",
    "Model",
    "ModelByTask",
    "ModelError",
    "ModelFailed",
    "ModelMisconfigured",
    "ModelRequest",
    "ModelUnreachable",
    "OnCall",
    "OnPartial",
    "Prompt",
    "Role",
    "ScriptedModel",
]
