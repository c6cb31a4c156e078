"""Small models that are trained here from labelled tables."""
