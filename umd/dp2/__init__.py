"""Direct3D of DirectX 6 to 9 by DrawPrimitives2 command buffers: what a legacy runtime finds as ``"umd:DdGetDriverInfo"``.

Command buffers are parsed, validated and carried out on a Direct3D 11 device of this driver: the fixed-function pipelines become
shaders, everything else the device's ordinary bindings, draws and copies.
"""
