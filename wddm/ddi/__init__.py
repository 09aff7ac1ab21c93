"""The WDK headers as Python: one module per header, WDK spelling, declarations only.

======================  =======================================================================================
module                  what it declares (documentation page)
======================  =======================================================================================
``status``              NTSTATUS, HRESULT and bug-check codes (ntstatus.h, winerror.h, d3d9.h; status codes)
``d3dukmdt``            what user mode and kernel mode share: lists, allocations, fences, residency, ids
``d3dkmdt``             kernel-mode data types: video present networks, modes, gamma, preemption
``d3dkmddi``            the display miniport's render half: DXGKARG_*, caps, paging, segments, interrupts
``d3dumddi``            kernel services for a user-mode driver: D3DDDICB_*, D3DDDI_DEVICECALLBACKS
``d3d10umddi``          the Direct3D 10/11 user-mode DDI: adapter, device tables, resources, views, states
``dxgiddi``             the DXGI DDI: present, blt, primaries, overlays and their tables
``dispmprt``            the display port: DRIVER_INITIALIZATION_DATA and DXGKRNL_INTERFACE
``dxgiformat``          DXGI_FORMAT and what each format is and supports at feature level 11_0
``d3dkmthk``            the D3DKMT thunks between runtime and kernel
``d3dhal``              DrawPrimitives2 (DP2) command buffers of DirectX 6 to 9
``ddrawint``            how a legacy Direct3D runtime finds the DP2 entries; surfaces by handle
======================  =======================================================================================

Nothing here acts: no I/O, no state, no policy. Structures are dataclasses with the header's member names; arrays that
cross a boundary are numpy dtypes with the exact x64 layout; where the documents give offsets a class carries
``_LAYOUT_`` (member, byte offset, byte size) and ``_SIZE_`` so that the Python form can be checked against the header.

DEVIATES: a pointer to memory is a Python object (``memoryview``, numpy array, list), a handle is an ``int`` (0 = NULL),
and an in/out pointer that a driver advances is an extra ``…Used`` out member that counts what was written.
"""
