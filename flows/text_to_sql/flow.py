"""The flow `text_to_sql`: ten nodes from a question to an answer, over any database that `sql` can read."""

import json
from collections.abc import Awaitable, Callable, Sequence

from flows.text_to_sql import prompts, saying, tables
from flows.text_to_sql.given import meant
from flows.text_to_sql.reading import Opens, Reading
from parley.flow import Asked, Flow, FlowRequest, Outputs, Run, State, node

type Hints = Callable[[str, str], Awaitable[Sequence[tuple[str, str]]]]  # user, question -> (question, SQL) accepted

NAME = "text_to_sql"
REPAIRS = 2
MENDS = f"(repairs or 0) < {REPAIRS}"
# what a statement would do besides answering: one that the person gave is refused for it, not rewritten
HARM = ("writes", "ddl", "administration", "locks", "hidden", "several_statements")
ODD = ("not_a_query", "function")  # harm or a slip of the pen: rewritten if that was asked for
CONFIRM = "this is the SQL that will run"


class TextToSql(Flow):
    name = NAME
    description = (
        "Answers questions about the data in a database: finds the tables, writes a SQL query, checks it, runs it and "
        "answers from the result. Also runs or mends a SQL query that is given."
    )
    may_start = (*Flow.may_start, "sql", "fix", "previous_question", "previous_sql", "previous_tables")

    def __init__(self, opens: Opens, hints: Hints) -> None:
        self._reading = Reading(opens)
        self._hints = hints

    def opening(self, asked: FlowRequest) -> Outputs:
        """Besides the request: a statement that it is about, and what the request before was about."""
        state = super().opening(asked)
        said = meant(asked)
        if said.sql:
            return state | {"sql": said.sql, "fix": said.fix}
        if before := saying.earlier(asked.earlier):
            state.pop("conversation", None)  # older than that
        return state | before

    # --- what is asked

    @node(
        "Analyzes if the request is general or a question about the data, and whether the data can answer it.",
        title="Understand the question",
        inputs=("request",),
        optional=("conversation", "previous_question", "previous_sql", "feedback", "findings"),
        outputs=("kind", "reason"),
        possible_next_nodes=(
            "rewrite_prompt",
            "get_relevant_tables",
            "general_questions",
            "validate_sql",
            "format_final_response",
        ),
        conditions={
            "general_questions": 'kind == "general"',
            "format_final_response": 'kind in ["unanswerable", "unsafe"]',
            "validate_sql": "sql",
        },
    )
    async def classify_prompt(self, run: Run) -> Outputs:
        known = await self._reading.schema()
        sections = {
            "request": run.text("request"),
            "conversation": run.text("conversation"),
            "previous": saying.previous(run.state),
            "tables": saying.named(known),
            "feedback": run.text("feedback"),
        }
        said = (await run.ask_model("classify_prompt", prompts.CLASSIFY, sections, prompts.ClassifyReply)).reply
        return {"kind": said.category, "reason": said.reason}

    @node(
        "Rewrites the request as one self-contained question for better SQL generation.",
        title="Rephrase the question",
        inputs=("request",),
        optional=("conversation", "previous_question", "previous_sql", "feedback", "findings"),
        outputs=("question",),
        possible_next_nodes=("get_relevant_tables", "generate_sql"),
    )
    async def rewrite_prompt(self, run: Run) -> Outputs:
        about = ("request", "conversation", "previous_question", "previous_sql", "feedback", "findings")
        sections = {name: saying.told(run.state.get(name)) for name in about}
        said = (await run.ask_model("rewrite_prompt", prompts.REWRITE, sections, prompts.RewriteReply)).reply
        return {"question": said.question}

    # --- which tables

    @node(
        "Identifies the database tables that are needed, and why each.",
        title="Find tables",
        inputs=("request",),
        optional=("question", "feedback"),
        outputs=("tables", "missing"),
        possible_next_nodes=("has_user_approved", "trim_relevant_tables", "generate_sql", "format_final_response"),
        conditions={"format_final_response": "missing"},
    )
    async def get_relevant_tables(self, run: Run) -> Outputs:
        schema = await self._reading.schema()
        question = saying.question(run)
        sections = {
            "question": question,
            "tables": tables.lines(question, schema),
            "feedback": run.text("feedback"),
        }
        reply = (await run.ask_model("get_relevant_tables", prompts.RELEVANT, sections, prompts.RelevantReply)).reply
        found = {table.name: one.reason for one in reply.tables if (table := schema.table(one.name))}
        if not found and not reply.missing:
            found = dict.fromkeys(tables.by_words(question, schema), "chosen by the words of the question")
        return {
            "tables": [{"name": name, "reason": reason} for name, reason in found.items()],
            "missing": reply.missing,
        }

    async def _which_tables(self, state: State) -> Asked:
        proposed = saying.reasons(state)
        told = "; ".join(f"{name} ({reason})" if reason else name for name, reason in proposed.items())
        unread = f"“{saying.brief(state.get('feedback'))}” names no table here. " if _asked_before(state) else ""
        ask = f"May these tables be used: {told}? Say yes, or what to add or to leave out, or what you mean instead."
        return Asked(unread + ask, form=tables.form(proposed, await self._reading.schema()))

    @node(
        "Asks the person to confirm the tables or to change them (human in the loop).",
        title="Confirm tables",
        inputs=("tables",),
        optional=("feedback",),
        outputs=("approved_tables", "feedback"),
        possible_next_nodes=("trim_relevant_tables", "generate_sql", "get_relevant_tables"),
        conditions={"get_relevant_tables": "not approved_tables"},
        asks=_which_tables,
    )
    async def has_user_approved(self, run: Run) -> Outputs:
        proposed = list(saying.reasons(run.state))
        if run.answer is None:
            return {"approved_tables": [*proposed], "feedback": run.text("feedback")}
        allowed = tables.approved(run.answer, proposed, await self._reading.schema())
        return {"approved_tables": [*allowed], "feedback": run.text("feedback") if allowed else run.answer}

    @node(
        "Filters the schema to the columns that are needed; keys stay.",
        title="Pick columns",
        inputs=("tables",),
        optional=("request", "question", "approved_tables"),
        outputs=("columns",),
        possible_next_nodes=("generate_sql",),
    )
    async def trim_relevant_tables(self, run: Run) -> Outputs:
        schema = tables.of_state(run.state, saying.question(run), await self._reading.schema())
        sections = {"question": saying.question(run), "tables": schema.lines()}
        reply = (await run.ask_model("trim_relevant_tables", prompts.TRIM, sections, prompts.TrimReply)).reply
        columns: Outputs = {}
        for chosen in reply.tables:
            table = schema.table(chosen.table)
            known = {column.name.lower() for column in table.columns} if table else set()
            if table and (kept := [column for column in chosen.columns if column.lower() in known]):
                columns[table.name] = [*kept]
        return {"columns": columns}

    # --- the query

    @node(
        "Generates SQL from the question, or mends a query with what is wrong with it.",
        title="Write SQL",
        inputs=("request",),
        optional=(
            *("question", "tables", "approved_tables", "columns", "sql", "problem", "repairs", "feedback"),
            *("previous_question", "previous_sql", "previous_tables"),
        ),
        outputs=("sql", "explanation", "cannot", "repairs"),
        possible_next_nodes=("validate_sql", "format_final_response"),
        conditions={"format_final_response": "cannot"},
    )
    async def generate_sql(self, run: Run) -> Outputs:
        question, problem = saying.question(run), run.text("problem")
        schema = tables.of_state(run.state, question, await self._reading.schema())
        columns = run.state.get("columns")
        if isinstance(columns, dict):
            schema = schema.trimmed({name: tables.names(kept) for name, kept in columns.items()})
        hints = await self._hints(run.user, question)
        sections = {
            "question": question,
            "dialect": schema.dialect,
            "tables": schema.lines(),
            "previous_question": run.text("previous_question"),
            "previous_sql": run.text("previous_sql"),
            "hints": [json.dumps({"question": asked, "sql": sql}, ensure_ascii=False) for asked, sql in hints],
            "sql": run.text("sql") if problem or run.state.get("fix") else "",
            "problem": problem,
            "feedback": run.text("feedback"),
        }
        said = (await run.ask_model("generate_sql", prompts.GENERATE, sections, prompts.GenerateReply)).reply
        repairs = saying.repairs(run.state) + (1 if problem else 0)
        if isinstance(said, prompts.Cannot):
            return {"sql": "", "explanation": "", "cannot": said.reason, "repairs": repairs}
        return {"sql": said.sql, "explanation": said.explanation, "cannot": "", "repairs": repairs}

    @node(
        "Validates the SQL: one query that only reads, of tables and columns that there are.",
        title="Check SQL",
        inputs=("sql",),
        optional=("approved_tables", "repairs"),
        outputs=("valid", "problem", "sql_tables", "refused"),
        possible_next_nodes=("execute_sql", "generate_sql", "format_final_response"),
        conditions={
            "generate_sql": f"not valid and not refused and {MENDS}",
            "format_final_response": "not valid",
        },
    )
    async def validate_sql(self, run: Run) -> Outputs:
        checked = await self._reading.check(run.text("sql"))
        own = "repairs" not in run.state or "sql" in run.given  # not the model's
        problem = checked.error if not checked.ok else "" if own else saying.unasked(run.state, checked)
        refused = own and (checked.kind in HARM or (checked.kind in ODD and not run.state.get("fix")))
        return {"valid": not problem, "problem": problem, "sql_tables": [*checked.tables], "refused": refused}

    @node(
        "Runs the SQL, read-only and within limits, and fetches the result.",
        title="Run SQL",
        inputs=("sql",),
        optional=("repairs",),
        outputs=("result", "problem", "refused"),
        possible_next_nodes=("format_final_response", "generate_sql"),
        conditions={"generate_sql": f"problem and not refused and {MENDS}"},
        confirm=CONFIRM,
    )
    async def execute_sql(self, run: Run) -> Outputs:
        table, problem = await self._reading.run(run.text("sql"))
        own = "sql" in run.given  # what a person wrote by hand is not exchanged for something else
        result = table.model_dump(mode="json") if table else None
        return {"result": result, "problem": problem, "refused": bool(problem) and own}

    # --- the answer

    @node(
        "Formats the final response: the answer from the result, or why there is none.",
        title="Write the answer",
        inputs=("request",),
        optional=("question", "sql", "result", "kind", "reason", "missing", "cannot", "problem", "valid", "sql_tables"),
        outputs=("answer", "chart"),
    )
    async def format_final_response(self, run: Run) -> Outputs:
        result = run.state.get("result")
        if not isinstance(result, dict):
            return {"answer": saying.refusal(run), "chart": "none"}
        rows = result.get("rows")
        found = rows if isinstance(rows, list) else []
        sections = {
            "question": saying.question(run),
            "sql": run.text("sql"),
            "columns": json.dumps(result.get("columns"), ensure_ascii=False),
            "rows": saying.rows(found),
            "row_count": str(len(found)),
            "truncated": "true" if result.get("truncated") else "",
        }
        reply = (await run.ask_model("format_final_response", prompts.FORMAT, sections, prompts.FormatReply)).reply
        return {"answer": reply.text, "chart": reply.chart if found else "none"}

    @node(
        "Answers what is not a question about the data.",
        title="Answer in words",
        inputs=("request",),
        optional=("previous_question", "previous_sql"),
        outputs=("answer",),
    )
    async def general_questions(self, run: Run) -> Outputs:
        sections = {
            "request": run.text("request"),
            "tables": saying.named(await self._reading.schema()),
            "flows": [f"{flow.name}: {flow.description}" for flow in run.flows],
            "previous": saying.previous(run.state),
        }
        said = (await run.ask_model("general_questions", prompts.GENERAL, sections, prompts.GeneralReply)).reply
        return {"answer": said.text}


def _asked_before(state: State) -> bool:
    """The person was asked, and their words named no table."""
    return state.get("approved_tables") == [] and bool(state.get("feedback"))
