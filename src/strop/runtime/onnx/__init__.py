"""The executor of ONNX models: what one program cannot hold is run in parts."""
