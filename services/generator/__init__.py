"""The generator service: writes the code for an approved plan, and the answers to requests."""
