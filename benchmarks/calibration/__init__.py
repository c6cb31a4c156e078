"""Whether ratings are as right as they say: services of known truth, rated thousands of times."""
