"""What people look at: single HTML files that open offline, with their numbers beside them."""
