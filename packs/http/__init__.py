"""HTTP requests, only to servers that the operator allows."""
