"""Words of the journal: the entries that an event adds and changes, each on the event alone."""
