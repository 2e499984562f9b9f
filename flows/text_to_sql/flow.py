"""The flow `text_to_sql`: ten nodes from a question to an answer, over any database that `sql` can read."""

import json
from collections.abc import Awaitable, Callable, Sequence

from flows.text_to_sql import node_texts, prompts, table_choice
from flows.text_to_sql.database_access import DatabaseAccess, OpenDatabase
from flows.text_to_sql.user_sql import find_sql_in_conversation
from parley.flow import Flow, FlowRequest, NodeQuestion, NodeRun, Outputs, State, node

type Hints = Callable[[str, str], Awaitable[Sequence[tuple[str, str]]]]  # user, question -> (question, SQL) accepted

NAME = "text_to_sql"
MAX_REPAIRS = 2
MAY_REPAIR = f"(repairs or 0) < {MAX_REPAIRS}"
# kinds of problems for which a statement of the user is refused, not rewritten
HARMFUL_KINDS = ("writes", "ddl", "administration", "locks", "hidden", "several_statements")
DOUBTFUL_KINDS = ("not_a_query", "function")  # harm or a typo: rewritten if the user asked for a fix
CONFIRM = "this is the SQL that will run"
WHY_NO_RESULT = ("kind", "reason", "missing", "cannot", "problem", "valid", "sql_tables")


class TextToSql(Flow):
    name = NAME
    description = (
        "Answers questions about the data in a database: finds the tables, writes a SQL query, checks it, runs it and "
        "answers from the result. Also runs or mends a SQL query that is given."
    )
    may_start = (*Flow.may_start, "sql", "fix", "previous_question", "previous_sql", "previous_tables", "objected_sql")

    def __init__(self, opens: OpenDatabase, hints: Hints) -> None:
        self._database = DatabaseAccess(opens)
        self._hints = hints

    def opening(self, request: FlowRequest) -> Outputs:
        """The initial state: with the query that the person has objected to, the SQL that the request is about, or the
        previous question.
        """
        state = super().opening(request)
        user_sql, so_far = find_sql_in_conversation(request), request.so_far
        if request.feedback and "valid" in so_far and (sql := so_far.get("sql") or user_sql.sql):
            state["objected_sql"] = sql  # it was checked on a path that the person objected to
        elif user_sql.sql:
            return state | {"sql": user_sql.sql, "fix": user_sql.fix}
        previous = node_texts.previous_question_state(request.earlier)
        if previous and not request.feedback:
            state.pop("conversation", None)  # it is older than the previous question
        return state | previous

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
    async def classify_prompt(self, run: NodeRun) -> Outputs:
        schema = await self._database.schema()
        sections = {
            "request": run.text("request"),
            "conversation": run.text("conversation"),
            "previous": node_texts.previous_lines(run.state),
            "tables": node_texts.table_names(schema),
            "feedback": run.text("feedback"),
        }
        reply = (await run.ask_model("classify_prompt", prompts.CLASSIFY, sections, prompts.ClassifyReply)).reply
        return {"kind": reply.category, "reason": reply.reason}

    @node(
        "Rewrites the request as one self-contained question for better SQL generation.",
        title="Rephrase the question",
        inputs=("request",),
        optional=("conversation", "previous_question", "previous_sql", "feedback", "findings"),
        outputs=("question",),
        possible_next_nodes=("get_relevant_tables", "generate_sql"),
    )
    async def rewrite_prompt(self, run: NodeRun) -> Outputs:
        names = ("request", "conversation", "previous_question", "previous_sql", "feedback", "findings")
        sections = {name: node_texts.as_text(run.state.get(name)) for name in names}
        reply = (await run.ask_model("rewrite_prompt", prompts.REWRITE, sections, prompts.RewriteReply)).reply
        return {"question": reply.question}

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
    async def get_relevant_tables(self, run: NodeRun) -> Outputs:
        schema = await self._database.schema()
        question = node_texts.question(run)
        sections = {
            "question": question,
            "tables": table_choice.schema_lines(question, schema),
            "feedback": run.text("feedback"),
        }
        reply = (await run.ask_model("get_relevant_tables", prompts.RELEVANT, sections, prompts.RelevantReply)).reply
        reasons = {table.name: choice.reason for choice in reply.tables if (table := schema.table(choice.name))}
        if not reasons and not reply.missing:
            reasons = dict.fromkeys(table_choice.rank_tables(question, schema), "chosen by the words of the question")
        return {
            "tables": [{"name": name, "reason": reason} for name, reason in reasons.items()],
            "missing": reply.missing,
        }

    async def _ask_tables(self, state: State) -> NodeQuestion:
        proposed = node_texts.table_reasons(state)
        names = "; ".join(f"{name} ({reason})" if reason else name for name, reason in proposed.items())
        notice = (
            f"“{node_texts.shorten(state.get('feedback'))}” names no table here. " if _no_table_named(state) else ""
        )
        ask = f"May these tables be used: {names}? Say yes, or what to add or to leave out, or what you mean instead."
        return NodeQuestion(notice + ask, form=table_choice.choice_form(proposed, await self._database.schema()))

    @node(
        "Asks the person to confirm the tables or to change them (human in the loop).",
        title="Confirm tables",
        inputs=("tables",),
        optional=("feedback",),
        outputs=("approved_tables", "feedback"),
        possible_next_nodes=("trim_relevant_tables", "generate_sql", "get_relevant_tables"),
        conditions={"get_relevant_tables": "not approved_tables"},
        asks=_ask_tables,
    )
    async def has_user_approved(self, run: NodeRun) -> Outputs:
        proposed = list(node_texts.table_reasons(run.state))
        if run.answer is None:
            return {"approved_tables": [*proposed], "feedback": run.text("feedback")}
        allowed = table_choice.approved_tables(run.answer, proposed, await self._database.schema())
        return {"approved_tables": [*allowed], "feedback": run.text("feedback") if allowed else run.answer}

    @node(
        "Filters the schema to the columns that are needed; keys stay.",
        title="Pick columns",
        inputs=("tables",),
        optional=("request", "question", "approved_tables"),
        outputs=("columns",),
        possible_next_nodes=("generate_sql",),
    )
    async def trim_relevant_tables(self, run: NodeRun) -> Outputs:
        schema = table_choice.relevant_schema(run.state, node_texts.question(run), await self._database.schema())
        sections = {"question": node_texts.question(run), "tables": schema.lines()}
        reply = (await run.ask_model("trim_relevant_tables", prompts.TRIM, sections, prompts.TrimReply)).reply
        columns: Outputs = {}
        for chosen in reply.tables:
            table = schema.table(chosen.table)
            known = {column.name.lower() for column in table.columns} if table else set()
            if table and (names := [column for column in chosen.columns if column.lower() in known]):
                columns[table.name] = [*names]
        return {"columns": columns}

    # --- the query

    @node(
        "Generates SQL from the question, or mends a query with what is wrong with it.",
        title="Write SQL",
        inputs=("request",),
        optional=(
            *("question", "tables", "approved_tables", "columns", "sql", "problem", "repairs", "feedback"),
            *("previous_question", "previous_sql", "previous_tables", "objected_sql"),
        ),
        outputs=("sql", "explanation", "cannot", "repairs"),
        possible_next_nodes=("validate_sql", "format_final_response"),
        conditions={"format_final_response": "cannot"},
    )
    async def generate_sql(self, run: NodeRun) -> Outputs:
        question, problem = node_texts.question(run), run.text("problem")
        schema = table_choice.relevant_schema(run.state, question, await self._database.schema())
        columns = run.state.get("columns")
        if isinstance(columns, dict):
            schema = schema.trimmed({name: table_choice.names_in(names) for name, names in columns.items()})
        hints = await self._hints(run.user, question)
        sections = {
            "question": question,
            "dialect": schema.dialect,
            "tables": schema.lines(),
            "previous_question": run.text("previous_question"),
            "previous_sql": run.text("previous_sql"),
            "hints": [json.dumps({"question": asked, "sql": sql}, ensure_ascii=False) for asked, sql in hints],
            "sql": run.text("sql") if problem or run.state.get("fix") else run.text("objected_sql"),
            "problem": problem,
            "feedback": run.text("feedback"),
        }
        reply = (await run.ask_model("generate_sql", prompts.GENERATE, sections, prompts.GenerateReply)).reply
        repairs = node_texts.repair_count(run.state) + (1 if problem else 0)
        if isinstance(reply, prompts.Cannot):
            return {"sql": "", "explanation": "", "cannot": reply.reason, "repairs": repairs}
        return {"sql": reply.sql, "explanation": reply.explanation, "cannot": "", "repairs": repairs}

    @node(
        "Validates the SQL: one query that only reads, of tables and columns that there are.",
        title="Check SQL",
        inputs=("sql",),
        optional=("approved_tables", "repairs"),
        outputs=("valid", "problem", "sql_tables", "refused"),
        possible_next_nodes=("execute_sql", "generate_sql", "format_final_response"),
        conditions={
            "generate_sql": f"not valid and not refused and {MAY_REPAIR}",
            "format_final_response": "not valid",
        },
    )
    async def validate_sql(self, run: NodeRun) -> Outputs:
        checked = await self._database.check(run.text("sql"))
        is_users = "repairs" not in run.state or "sql" in run.user_set  # not written by the model
        problem = (
            checked.error
            if not checked.ok
            else ""
            if is_users
            else node_texts.unapproved_tables_problem(run.state, checked)
        )
        refused = is_users and (
            checked.kind in HARMFUL_KINDS or (checked.kind in DOUBTFUL_KINDS and not run.state.get("fix"))
        )
        return {"valid": not problem, "problem": problem, "sql_tables": [*checked.tables], "refused": refused}

    @node(
        "Runs the SQL, read-only and within limits, and fetches the result.",
        title="Run SQL",
        inputs=("sql",),
        optional=("repairs",),
        outputs=("result", "problem", "refused"),
        possible_next_nodes=("format_final_response", "generate_sql"),
        conditions={"generate_sql": f"problem and not refused and {MAY_REPAIR}"},
        confirm=CONFIRM,
    )
    async def execute_sql(self, run: NodeRun) -> Outputs:
        table, problem = await self._database.run(run.text("sql"))
        is_users = "sql" in run.user_set  # SQL that the user wrote is never replaced
        result = table.model_dump(mode="json") if table else None
        return {"result": result, "problem": problem, "refused": bool(problem) and is_users}

    # --- the answer

    @node(
        "Formats the final response: the answer from the result, or why there is none.",
        title="Write the answer",
        inputs=("request",),
        optional=("question", "sql", "explanation", "result", *WHY_NO_RESULT),
        outputs=("answer", "chart"),
    )
    async def format_final_response(self, run: NodeRun) -> Outputs:
        result = run.state.get("result")
        if not isinstance(result, dict):
            return {"answer": node_texts.no_result_reason(run), "chart": "none"}
        rows = result.get("rows")
        row_list = rows if isinstance(rows, list) else []
        sections = {
            "question": node_texts.question(run),
            "sql": run.text("sql"),
            "explanation": run.text("explanation"),
            "columns": json.dumps(result.get("columns"), ensure_ascii=False),
            "rows": node_texts.row_lines(row_list),
            "row_count": str(len(row_list)),
            "truncated": "true" if result.get("truncated") else "",
        }
        reply = (await run.ask_model("format_final_response", prompts.FORMAT, sections, prompts.FormatReply)).reply
        return {"answer": reply.text, "chart": reply.chart if row_list else "none"}

    @node(
        "Answers what is not a question about the data.",
        title="Answer in words",
        inputs=("request",),
        optional=("previous_question", "previous_sql"),
        outputs=("answer",),
    )
    async def general_questions(self, run: NodeRun) -> Outputs:
        sections = {
            "request": run.text("request"),
            "tables": node_texts.table_names(await self._database.schema()),
            "flows": [f"{flow.name}: {flow.description}" for flow in run.flows],
            "previous": node_texts.previous_lines(run.state),
        }
        reply = (await run.ask_model("general_questions", prompts.GENERAL, sections, prompts.GeneralReply)).reply
        return {"answer": reply.text}


def _no_table_named(state: State) -> bool:
    """Whether the user was asked, and their answer named no table."""
    return state.get("approved_tables") == [] and bool(state.get("feedback"))
