"""Benchmarks: a synthetic county, the job, its peers, and whether their answers agree.

``python -m benchmarks`` (``make bench``) prints the table; README.md keeps one.
"""
