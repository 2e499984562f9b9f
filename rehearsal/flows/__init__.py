"""The rehearsal model's part in flows: it plans paths through any graph of nodes, and speaks for nodes that ask it."""
