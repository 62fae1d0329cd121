"""What a function computes: its bytes lifted to single static assignment, one form for every processor.

``code`` → ``decode`` (p-code, blocks, liveness) → ``solve`` (one value, one node) → ``features`` (hashed operations and
their graph). ``apart`` does it in a process that may crash.
"""
