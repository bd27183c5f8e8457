"""The whole-program abstract interpreter: values, the heap, statements, calls, and what rules may ask of the result."""
