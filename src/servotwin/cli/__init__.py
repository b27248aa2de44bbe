"""What people type: the command ``servotwin``."""
