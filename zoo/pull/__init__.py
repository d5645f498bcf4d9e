"""Downloading what was pinned: a release of this zoo, or a source.

``place`` finds a release, ``plan`` decides which files come and what they must be, ``fetch`` writes them.
"""
