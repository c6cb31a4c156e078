"""Statistics that know numbers, not the domain."""
