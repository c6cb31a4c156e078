"""Everything that can be asked: services, composites, replays, controls."""
