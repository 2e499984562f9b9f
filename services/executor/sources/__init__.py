"""Where tools come from: packs, MCP servers, and the nodes of flows."""
