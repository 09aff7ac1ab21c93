"""Passes over the intermediate representation, in the order in which :func:`wddm.hlsl.compiler` runs them."""
