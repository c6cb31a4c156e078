"""Engines that spread a run over worker processes."""
