"""Two versions of a program, function by function: what a patch changed, and of what kind the change is.

``version`` (a file's functions, addresses resolved to what lies there) → ``pairing`` (which is which) → ``globals``
(which address became which) → ``compare`` (same or changed; by ``compute`` and ``outline`` what both compute) →
``align``, ``kinds`` and ``told`` (what changed) → ``record``, ``view``.
"""
