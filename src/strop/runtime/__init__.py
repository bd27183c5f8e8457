"""Compiled programs and modules that run: JIT, threads, guards, dispatch, specializations."""
