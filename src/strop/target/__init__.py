"""CPUs: descriptions as data, their ports, the machine at hand and what was measured on it."""
