"""The pages: plain HTML, styles and scripts, served as they are."""
