"""What draws graphs in pages: cytoscape 3.34.4; cytoscape-fcose 2.2.0 over cose-base 2.2.0 and layout-base 2.0.1.

All of it was written by others, under the MIT licence. cytoscape is unchanged from its npm package; the others are
without their comments and blanks (rjsmin 1.3.0 over the files of their packages).
"""

DRAWING = ("layout-base.js", "cose-base.js", "cytoscape.min.js", "cytoscape-fcose.js")
"""The scripts in the order in which a page needs them."""
