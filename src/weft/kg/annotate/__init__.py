"""Missing annotations of a Python tree: asked of the syntax, a checker and a model, and written into the source."""
