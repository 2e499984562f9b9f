"""Measurements: each prints ratios of one run, because machines differ and are noisy. Never part of the tests."""
