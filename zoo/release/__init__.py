"""Releasing a version of a draft. ``steps`` is the whole process as one ordered list; read it first.

plan ──▶ steps (prepare, then publish) ──▶ a publishing target + release/NAME/VERSION/
"""
