"""Verify, document and release draft checkpoints: the small models of speculative decoding.

A broken draft does not fail. It boots, answers 200 and writes correct text, and only the accept length
is 1; a mild fault costs a few percent and shows nowhere. So the tool has one promise: no draft is
released that serves below what it was trained to do.
"""

__version__ = "0.1.0"
