"""What Parley itself costs: its services with a model that answers at once, beside NATS with nothing on top."""
