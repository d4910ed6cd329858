"""Validators of foreign metadata, written by us from the published specifications.

Each ``faults`` takes an exported tree and gives sentences, one per broken rule; none where all is well.
"""
