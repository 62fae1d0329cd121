"""Searching an index: candidates, how well their calls agree, how crowded their places are, and what is answered."""

from typing import TYPE_CHECKING

from weft.platform.lazy import lazily

if TYPE_CHECKING:
    from weft.bcsd.use.search.files import Found, search_file
    from weft.bcsd.use.search.searcher import Searcher

__all__ = ["Found", "Searcher", "search_file"]

__getattr__, __dir__ = lazily(__name__, {"Found": "files", "Searcher": "searcher", "search_file": "files"})
