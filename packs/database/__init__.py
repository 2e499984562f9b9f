"""Read-only database tools: list tables, describe them, and run queries within limits."""
