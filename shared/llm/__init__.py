"""Models: one typed question to any OpenAI-compatible server, and a scripted partner for tests."""

from shared.llm.errors import ModelError, ModelFailed, ModelMisconfigured, ModelUnreachable
from shared.llm.scripted import ModelByTask, Prompt, ScriptedModel
from shared.llm.types import Call, Message, Model, OnCall, OnPartial, Outcome, Role

__all__ = [
    "Call",
    "Message",
    "Model",
    "ModelByTask",
    "ModelError",
    "ModelFailed",
    "ModelMisconfigured",
    "ModelUnreachable",
    "OnCall",
    "OnPartial",
    "Outcome",
    "Prompt",
    "Role",
    "ScriptedModel",
]
