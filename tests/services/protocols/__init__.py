"""Servers that speak the published protocols of services, strictly, on this machine."""
