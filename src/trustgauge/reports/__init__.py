"""What people and machines see of a rating: pure functions of `rating.json` and the evidence."""
