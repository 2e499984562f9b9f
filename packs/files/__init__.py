"""A session's own files."""
