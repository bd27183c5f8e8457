"""Comparing before and after: code run twice, in processes of its own."""
