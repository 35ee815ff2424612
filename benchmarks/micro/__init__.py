"""Micro-benchmarks of the kernels: ``pytest benchmarks/micro -p benchmark``, not in the tests."""
