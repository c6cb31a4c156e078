"""Manual mode: questions exported to people as sheets, their answers imported."""
