"""What can be seen of Parley from outside: figures for Prometheus, always; traces for OpenTelemetry, where wanted.

Below everything but the settings: whoever does something worth seeing says so here; nothing here knows what that is.

    metrics      every figure there is, by name
    tracing      spans, and how one is carried to the next process
    names        attributes of spans
    running      begins both for a process, and ends them
"""
