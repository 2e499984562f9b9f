"""Notes: tools, a flow, a step executor and a plan generator to begin your own with."""
