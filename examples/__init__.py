"""Programs that use a running Parley, one for each kind of work."""
