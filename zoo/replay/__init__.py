"""Replay: a draft is run against recorded states of its target, without the target.

``trace`` reads what ``record`` or ``importer`` wrote. torch is imported only where numbers are computed.
"""
