"""Raster files as surfaces, and what they say under shapes; ``wetgis.terrain`` stands on it.

Ground floor first: ``coverage`` (kernels: what part of each cell a shape covers), ``zunit`` (what
the numbers are), ``horn`` (slope, and where cells lie), ``files`` (several files on one grid),
``zones`` (sums under many shapes, window by window), ``surface``.
"""
