"""Lowering: typed tree to intermediate representation.  Functions are inlined, names become values."""
