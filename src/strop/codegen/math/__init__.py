"""Functions of one number as LLVM IR, scalar or by lanes: exp, log, erf, tanh, trigonometry, products of bytes."""
