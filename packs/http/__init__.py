"""Requests over HTTP, to the servers that the operator allows and no others."""
