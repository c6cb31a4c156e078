"""Issue checkers: one module each, all behind `issue.Issue`."""
