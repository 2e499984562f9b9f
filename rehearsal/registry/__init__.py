"""The registry of programs that the rehearsal model can write, with their plans and features."""

from rehearsal.registry.program import Feature, ProgramSpec
from rehearsal.registry.programs import PROGRAMS

__all__ = ["BY_NAME", "CONFIGURE", "INTRODUCTION", "PROGRAMS", "Feature", "ProgramSpec"]

KINDS = ", ".join(program.title for program in PROGRAMS)
CONFIGURE = "To use a language model, set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL and start Parley again."
BY_NAME = 'Any tool can be called by its exact name: Call server.tool with {"name": "value"}.'
INTRODUCTION = (
    "This is Parley's rehearsal model. It is a set of rules and no language model. "
    f"It can plan, write and revise these programs: {KINDS}. "
    "It plans paths through flows, and writes SQL for plain questions about the tables that it is shown. "
    f"With tools it serves the customers of a sample retail store. {BY_NAME} {CONFIGURE}"
)
