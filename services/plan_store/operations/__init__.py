"""What an operator sets off or sees: rebuilds, purges, dead letters, health, metrics."""
