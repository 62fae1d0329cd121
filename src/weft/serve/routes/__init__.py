"""Every address of the service: read the request, ask the desk, answer."""
