"""Templates of a running Parley: create them from plans, sessions and documents; change, use and schedule them."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from parley.client.execution_plans import task_id
from parley.client.rest import Rest
from parley.protocol.execution_plans import ExecutionPlan
from parley.protocol.templates import CandidatePage, ChosenValue, Schedule, Template, TemplatePage, TemplateView

_PATH = "/api/templates"

type ParameterInput = ChosenValue | Mapping[str, Any]


class Templates:
    """Every method may raise `parley.client.errors.ParleyError`."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    async def create(self, template: Template) -> TemplateView:
        return await self._create("", template=template.model_dump(mode="json"))

    async def read(self, document: str, *, format: Literal["json", "yaml"] = "yaml") -> TemplateView:  # noqa: A002
        """Create a template from a document."""
        return await self._create("", document=document, format=format)

    async def from_plan(
        self,
        plan: ExecutionPlan | str,
        *,
        name: str = "",
        description: str = "",
        parameters: Sequence[ParameterInput] = (),
    ) -> TemplateView:
        """Create a template from a plan, with values that become parameters: `{"name": "order", "value": "#W1"}`."""
        fields = {"task_id": task_id(plan), "name": name, "description": description}
        return await self._create("/from-plan", **fields, parameters=_parameters_json(parameters))

    async def candidates(self, plan: ExecutionPlan | str) -> CandidatePage:
        """The values of a plan that can become parameters."""
        return await self._rest.get(CandidatePage, f"{_PATH}/from-plan", task_id=task_id(plan))

    async def learn(
        self, session_id: str, *, name: str = "", description: str = "", parameters: Sequence[ParameterInput] = ()
    ) -> TemplateView:
        """Create a template from a session's finished calls, in order."""
        fields = {"session_id": session_id, "name": name, "description": description}
        return await self._create("/from-session", **fields, parameters=_parameters_json(parameters))

    async def learnable(self, session_id: str) -> CandidatePage:
        """The values of a session's calls that can become parameters."""
        return await self._rest.get(CandidatePage, f"{_PATH}/from-session", session_id=session_id)

    async def list(self, *, limit: int = 50, offset: int = 0) -> TemplatePage:
        """My templates, newest first, and those that come with Parley."""
        return await self._rest.get(TemplatePage, _PATH, limit=limit, offset=offset)

    async def get(self, template_id: str) -> TemplateView:
        return await self._rest.get(TemplateView, f"{_PATH}/{template_id}")

    async def document(self, template_id: str, *, format: Literal["json", "yaml"] = "yaml") -> str:  # noqa: A002
        """The template as a document."""
        return await self._rest.text(f"{_PATH}/{template_id}", format=format)

    async def change(self, template: TemplateView, new: Template) -> TemplateView:
        """Save the next version. Raises RequestRefused if there is a newer one already."""
        body = {"version": template.version, "template": new.model_dump(mode="json")}
        return await self._rest.send(TemplateView, "PUT", f"{_PATH}/{template.id}", body)

    async def schedule(self, template: TemplateView, schedule: Schedule | None) -> TemplateView:
        """Run the template daily or once; None: only by hand. Each run's plan awaits approval."""
        body = {"version": template.version, "schedule": schedule.model_dump(mode="json") if schedule else None}
        return await self._rest.send(TemplateView, "PUT", f"{_PATH}/{template.id}/schedule", body)

    async def delete(self, template_id: str) -> None:
        await self._rest.ask("DELETE", f"{_PATH}/{template_id}")

    async def use(
        self,
        template_id: str,
        values: Mapping[str, Any] | None = None,
        *,
        request: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> ExecutionPlan:
        """A plan with these values, to approve. With a `request`, the planner makes one with the template as a hint."""
        fields = {"values": dict(values or {}), "request": request, "settings": settings}
        body = {**fields, "id": uuid.uuid4().hex, "timeout": 20}
        return await self._rest.send(ExecutionPlan, "POST", f"{_PATH}/{template_id}/use", body)

    async def _create(self, path: str, **body: Any) -> TemplateView:
        return await self._rest.send(TemplateView, "POST", f"{_PATH}{path}", {**body, "id": uuid.uuid4().hex})


def _parameters_json(parameters: Sequence[ParameterInput]) -> list[Any]:
    return [
        parameter.model_dump(mode="json") if isinstance(parameter, ChosenValue) else dict(parameter)
        for parameter in parameters
    ]
