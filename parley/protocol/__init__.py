"""The WebSocket protocol between a client and the gateway: what each may send."""
