"""Scheduled nests as LLVM IR and object code."""
