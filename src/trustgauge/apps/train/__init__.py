"""Small models trained from labelled tables."""
