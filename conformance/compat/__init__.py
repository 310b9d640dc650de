"""Plays published cases the way the published runner does, so that its verdict can be predicted.

Everything here behaves as that runner does, not as its documentation says or as would be right.
Members that it ignores are ignored, and assertions that it passes unchecked pass.
"""
