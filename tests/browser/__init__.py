"""Pages in a real Chromium, without a network."""
