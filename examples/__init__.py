"""Programs that use a running Parley, one a kind of work."""
