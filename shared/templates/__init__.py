"""Templates of plans: made from plans and sessions, read and written as JSON or YAML, filled with values. Pure."""
