"""The workloads as the peers run them: OpenGL through moderngl, WebGPU through wgpu-py. One module a group.

Run by the Python of the peers' own environment as ``python -m bench.peers.workloads.GROUP``; the environment variables that
:mod:`bench.peers.session` sets choose the driver. They import numpy and :mod:`bench.geometry` of ours, nothing else.
"""
