"""Tests, one folder for each package of the source."""
