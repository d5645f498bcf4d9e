"""Serving a draft and asking the server: is this the draft, is it alive, and does it accept what a replay
says it must?"""
