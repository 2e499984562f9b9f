"""Telemetry: metrics for Prometheus, always, and traces for OpenTelemetry, if configured.

This package imports only the settings. Other packages report to it.

    metrics      all metrics
    tracing      spans, the names of their attributes, and their propagation to other processes
    lifecycle    starts and stops both for a process
"""
