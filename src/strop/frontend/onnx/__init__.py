"""ONNX files: read without trust, interpreted over torch operators, traced."""
