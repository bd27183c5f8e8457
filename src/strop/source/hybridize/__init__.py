"""Verdicts: which functions should run as graphs. `tensorflow.py` follows the table of preconditions for `tf.function`,
`torch.py` its counterpart for `torch.compile`; `parameters.py` holds what both ask of parameters.

A framework's module has `judge(program, effects, id, facts, evidence) -> list[Finding]`: it fills in verdict, safety,
reasons and assumptions of the facts that `parameters.describe` began, and returns what a person may want to change.
"""
