"""Operating Parley on one machine or in containers: start, check, repair, back up."""
