"""Plays published cases the way the published runner does, so that its verdict can be foretold.

Everything here is as that runner is, not as its documentation says or as would be right: what it
ignores is ignored, and what it passes on nothing passes on nothing.
"""
