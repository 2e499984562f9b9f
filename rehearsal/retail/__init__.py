"""Customers of a retail store: their words into requests, these into tool calls, and the results into an answer."""
