"""Lifting in a process of its own, which may crash: wire → process and child → bounded."""
