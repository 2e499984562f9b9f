"""The rehearsal model's part in flows: plans paths through any graph of nodes, and replies to the nodes."""
