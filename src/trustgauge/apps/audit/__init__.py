"""Audits: people, or a measured model, label a blind sample of a run's own answers (methods 0.10)."""
