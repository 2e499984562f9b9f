"""Reads the rows for whoever asks."""
