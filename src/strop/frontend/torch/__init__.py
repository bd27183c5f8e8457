"""PyTorch models: export, and the normaliser of ATen graphs that Dynamo's graphs take too."""
