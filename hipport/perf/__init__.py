"""Static loop model and occupancy."""
