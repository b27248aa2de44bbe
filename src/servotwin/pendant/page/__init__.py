"""The teach pendant in a browser: pages, seats, jobs and points in one folder."""
