"""Parts of a plan sheet: the page, its text, the map, its labels, tables and marks.

Everything is placed in inches of paper, so that the scale is exact.
"""
