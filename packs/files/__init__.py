"""The session's files, as tools."""
