"""Renderers: pure functions of a report."""
