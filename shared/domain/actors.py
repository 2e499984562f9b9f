"""The actors of events: who appended them. A worker's actor is its service's name."""

USER_PREFIX = "user:"
KEEPER = "keeper"  # plan_store's scheduler: fails abandoned work, begins scheduled sessions, wakes and polls steps
OPERATOR = f"{USER_PREFIX}local"  # the only user of a Parley without accounts, and `parley publish`
TEMPLATE_PREFIX = "template/"
