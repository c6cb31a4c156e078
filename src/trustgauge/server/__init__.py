"""What listens: the proxy that rates real traffic as it passes."""
