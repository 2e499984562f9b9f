"""Flows: graphs of described nodes. Two ship: questions to SQL, and triage of complaints."""
