"""Semantic analysis: syntax tree in, typed tree out."""
