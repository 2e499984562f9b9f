"""Benchmarks. Each prints ratios within one run, because machines differ and are noisy. None is part of the tests."""
