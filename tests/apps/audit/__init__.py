"""Audits of readers: samples, labels, the page, and what the labels make of a rating."""
