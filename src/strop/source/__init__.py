"""The source half: reads a project's Python without importing or running it, says what it found, and edits it."""
