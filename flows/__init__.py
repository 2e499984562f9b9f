"""Flows: graphs of described nodes, and the two that ship: questions to SQL, and triage of complaints."""
