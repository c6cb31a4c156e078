"""Applications around the rating corridor; each can be removed without touching anything else."""
