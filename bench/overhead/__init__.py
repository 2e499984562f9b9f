"""Parley's own overhead: its services with a model that replies instantly, compared with bare NATS."""
