"""Benchmarks: ``python -m benchmarks [NAME] [OPTIONS]``, with the package installed.

Every cell runs in a fresh process, contenders in turn, round after round; figures are medians,
ratios the median of the ratios of each round.
"""
