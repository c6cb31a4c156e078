"""Where answers are kept: the folder of a run, its SQLite store, and the one writer."""
