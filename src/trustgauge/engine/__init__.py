"""Asking services, as fast as each allows and never beyond a limit."""
