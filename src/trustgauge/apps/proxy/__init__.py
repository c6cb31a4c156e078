"""The rating proxy: forwards real traffic and rates it."""
