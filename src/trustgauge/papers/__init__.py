"""The published tables, and what our code makes of their published inputs."""
