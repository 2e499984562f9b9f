"""The planner service: drafts plans, revises them by feedback, and starts over on request."""
