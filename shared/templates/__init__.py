"""Templates of plans: parameters filled in, made from plans and sessions, read and written as JSON and YAML. Pure."""
