"""What runs in the user's process: scripts that import nothing else of Strop."""
