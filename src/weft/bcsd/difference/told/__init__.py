"""What a person is told of a change, in the terms of the program: arguments, fields, callees, never registers.

``spelling`` (a value as text) → ``conditions`` (what branches ask), ``effects`` (what is stored, what calls are given)
→ ``compared`` (which effects are new, gone or other).
"""
