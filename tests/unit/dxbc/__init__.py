"""Containers, tokens and assembly text."""
