"""Live chat: talk to a bot in the terminal while it is scored."""
