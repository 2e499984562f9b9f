"""The protocol between clients and the gateway, and between services about tools and flows: all messages."""
