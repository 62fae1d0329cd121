"""What `weft bench` runs: ratios against named baselines, measured in one run."""
