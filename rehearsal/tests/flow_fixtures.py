"""The two built-in flows, as the section `flows` of a prompt describes them."""

from typing import Any


def node(name: str, takes: str, makes: str, after: str = "") -> dict[str, Any]:
    """A node. Inputs whose name ends with a question mark are optional."""
    names = takes.split()
    return {
        "name": name,
        "inputs": [name for name in names if not name.endswith("?")],
        "optional": [name[:-1] for name in names if name.endswith("?")],
        "outputs": makes.split(),
        "possible_next_nodes": after.split(),
    }


def flow(name: str, description: str, *nodes: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "starts": ["request"], "nodes": list(nodes)}


SQL = flow(
    "text_to_sql",
    "Answers questions about the data in a database: writes one SQL query, checks it and runs it.",
    node(
        "classify_prompt",
        "request",
        "kind reason",
        "rewrite_prompt get_relevant_tables general_questions validate_sql format_final_response",
    ),
    node("rewrite_prompt", "request", "question", "get_relevant_tables generate_sql"),
    node(
        "get_relevant_tables",
        "request question?",
        "tables missing",
        "has_user_approved trim_relevant_tables generate_sql format_final_response",
    ),
    node("has_user_approved", "tables", "approved_tables", "trim_relevant_tables generate_sql get_relevant_tables"),
    node("trim_relevant_tables", "tables", "columns", "generate_sql"),
    node("generate_sql", "request sql? problem?", "sql cannot", "validate_sql format_final_response"),
    node("validate_sql", "sql", "valid problem", "execute_sql generate_sql format_final_response"),
    node("execute_sql", "sql", "result problem", "format_final_response generate_sql"),
    node("format_final_response", "request result?", "answer chart"),
    node("general_questions", "request", "answer"),
)
TRIAGE = flow(
    "complaint_triage",
    "Sorts a customer's complaint about an order, does what the store allows, and writes the reply.",
    node(
        "classify_complaint",
        "request details?",
        "category order_id email first_name last_name zip urgent",
        "find_customer ask_for_order write_reply",
    ),
    node("find_customer", "request email?", "user_id problem", "read_order ask_for_order write_reply"),
    node("ask_for_order", "", "details", "classify_complaint"),
    node("read_order", "order_id user_id", "order owner", "assess write_reply"),
    node("assess", "request category order", "remedy item_ids", "cancel_order return_items hand_over write_reply"),
    node("cancel_order", "order_id order", "done", "write_reply"),
    node("return_items", "order_id order item_ids", "done", "write_reply"),
    node("hand_over", "request", "done", "write_reply"),
    node("write_reply", "request", "answer"),
)
PAGE = [SQL, TRIAGE]
