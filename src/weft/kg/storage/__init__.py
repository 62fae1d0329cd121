"""The store of a knowledge graph: Parquet tables are the truth, a manifest says which of them count.

layout → manifest, parts, lock → writer (one at a time) → derive → graph (read) → rdf, query, export
"""
