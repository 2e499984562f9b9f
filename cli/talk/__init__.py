"""Commands about sessions, plans and templates."""
