"""What is kept on disk: compiled code, checked descriptions. Only what this user wrote is read."""
