"""One database that is only read, as tools: which tables there are, what they hold, and queries within limits."""
