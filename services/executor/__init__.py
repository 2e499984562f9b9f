"""Runs the actions of a turn, wave by wave, and records what came of each."""
