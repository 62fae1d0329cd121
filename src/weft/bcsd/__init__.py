"""Binary code similarity: bytes → functions → control-flow graph and tokens → model → index, search, match.

The rooms, in the order of the flow: :mod:`weft.bcsd.read` (a file becomes an image),
:mod:`weft.bcsd.architectures` (what differs from one processor family to the next, a folder for each),
:mod:`weft.bcsd.disassemble` (an image becomes functions with a typed control-flow graph),
:mod:`weft.bcsd.represent` (a function becomes tokens), :mod:`weft.bcsd.table` (functions become Parquet),
:mod:`weft.bcsd.dataset` (source packages become labelled functions), :mod:`weft.bcsd.model` (a batch of functions
becomes embeddings), :mod:`weft.bcsd.learn` (training), :mod:`weft.bcsd.evaluate` (retrieval, against baselines),
:mod:`weft.bcsd.use` (files are extracted, embedded, searched for), :mod:`weft.bcsd.index` (an index in step with
files), :mod:`weft.bcsd.presence` (whether what is asked for is in it), :mod:`weft.bcsd.libraries` (static libraries of
packages put into it), :mod:`weft.bcsd.components` (a program explained by them), :mod:`weft.bcsd.matching`
(two files, one to one), :mod:`weft.bcsd.difference` (two versions of one), :mod:`weft.bcsd.explain` and
:mod:`weft.bcsd.report` (why, as pages and scripts).
"""

from typing import TYPE_CHECKING

from weft.platform.lazy import later, lazily

if TYPE_CHECKING:
    from weft.bcsd.components.identify import identify
    from weft.bcsd.difference.files import diff
    from weft.bcsd.matching.files import match
    from weft.bcsd.use.embed_files import Embedding
    from weft.bcsd.use.extract_files import Extraction, extract
    from weft.bcsd.use.search.files import search_file as search

__all__ = ["Embedding", "Extraction", "diff", "extract", "identify", "match", "search"]

# SciPy asks NumPy for all its names as it is loaded, and with them for a compiler of Fortran and a test runner.
later("numpy.f2py", "numpy.testing")

__getattr__, __dir__ = lazily(
    __name__,
    {
        "Embedding": "use.embed_files",
        "Extraction": "use.extract_files",
        "diff": "difference.files",
        "extract": "use.extract_files",
        "identify": "components.identify",
        "match": "matching.files",
        "search": "use.search.files:search_file",
    },
)
