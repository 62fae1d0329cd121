"""What a function computes: its bytes lifted to single static assignment, one form for every processor.

``code`` → ``translate`` (p-code) → ``flow`` (blocks, liveness) → ``ssa`` over ``values`` (one value, one node) →
``bag`` (hashed operations). ``bounded`` does it in a process that may crash.
"""
