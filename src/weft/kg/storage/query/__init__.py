"""Questions in SPARQL: ``sparql`` answers them, ``results`` writes the answers, ``diagnosis`` says what is mistyped."""
