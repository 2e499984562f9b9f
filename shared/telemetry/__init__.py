"""Telemetry: metrics for Prometheus, always, and traces for OpenTelemetry, if configured.

This package imports only the settings. Other packages report to it.

    metrics      all metrics
    tracing      spans, and their propagation to other processes
    names        attributes of spans
    lifecycle    starts and stops both for a process
"""
