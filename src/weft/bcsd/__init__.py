"""Binary code similarity: bytes → functions → control-flow graph and tokens → model → search.

The rooms, in the order of the flow: :mod:`weft.bcsd.read` (a file becomes an image),
:mod:`weft.bcsd.disassemble` (an image becomes functions with a typed control-flow graph),
:mod:`weft.bcsd.represent` (a function becomes tokens), :mod:`weft.bcsd.table` (functions become Parquet),
:mod:`weft.bcsd.dataset` (source packages become labelled functions).
"""
