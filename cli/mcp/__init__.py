"""`parley mcp`: Parley as tools of another assistant."""
