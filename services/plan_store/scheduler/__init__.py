"""What happens at a time: expiries, polls, swept work, scheduled templates."""
