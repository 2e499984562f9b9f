"""The pure domain: told as given events, when a command, then an event or a refusal."""
