"""Checkpoints that are elsewhere: on a hub (``hf://``) or behind a web server (``https://``).

``source.opened`` makes a checkpoint of either, by reading the small files and the headers only. Everything
below it is about doing so within a time limit, and without telling anybody more than they need to know.
"""
