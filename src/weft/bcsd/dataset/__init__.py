"""Labelled functions from source: the same function, built many ways.

``config`` says what to build, ``source`` fetches and prepares packages, ``compile`` makes one build,
``label`` names its functions, ``build`` runs the matrix and can be resumed, ``assemble`` joins the builds
into one table and a manifest, ``stats`` counts.
"""
