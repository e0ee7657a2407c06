"""Measurements beside every installed peer, in one run; a speed is a ratio to a peer, and ids are compared first.

python -m benchmarks encode | load | matrix | prompt | surface | train
"""
