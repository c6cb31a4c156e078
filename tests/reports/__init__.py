"""Tests of what a person sees."""
