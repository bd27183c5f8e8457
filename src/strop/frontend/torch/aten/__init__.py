"""Rules from ATen operators to the operator set, one file per family."""
