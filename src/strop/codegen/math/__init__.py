"""Scalar functions as LLVM IR."""
