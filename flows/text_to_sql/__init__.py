"""Questions in plain words become SQL that a person can look at before it runs."""
