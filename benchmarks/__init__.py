"""Speed beside peers, as ratios measured in one run: ``make bench``."""
