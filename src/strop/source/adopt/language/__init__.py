"""The architecture language: how rules and models are written. The grammar is in docs/adopt.md."""
