"""Model files: compiled programs with their weights in one file, and how to run one with neither PyTorch nor LLVM.

`link` makes one image of object files, `model_file` is the format, `loaded_model` runs one from Python; `c/` holds the
same for C, C++ and Rust. `runtime/save_model.py` compiles a model into such a file.
"""
