"""plan_store: projects the log into SQL and answers every question about sessions, plans, usage and dead letters."""
