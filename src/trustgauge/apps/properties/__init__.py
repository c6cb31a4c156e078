"""Building a set of properties from raw statements about groups."""
