"""One path from plan to rating document: prepare, ask, rate, render."""
