"""From p-code to values: rules and comparisons simplify → values → joins → ssa."""
