"""Notes: tools and a flow to begin your own with."""
