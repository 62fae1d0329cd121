"""A neighbourhood of the graph as one HTML file that needs nothing else; cytoscape.js 3.34.4 (MIT) draws it."""
