"""The virtual GPU's programming manual.

What a driver and the hardware agree on, and nothing else: the address map (:mod:`~wddm.hw.memory`), the register file
(:mod:`~wddm.hw.registers`), ring entries and command packets (:mod:`~wddm.hw.packets`), surface formats and layouts
(:mod:`~wddm.hw.formats`, :mod:`~wddm.hw.layout`), descriptors (:mod:`~wddm.hw.descriptors`), the shader instruction set
(:mod:`~wddm.hw.isa`) and interrupts (:mod:`~wddm.hw.interrupts`).

The user-mode driver writes packets and shader programs by this manual, the miniport validates and submits them, the virtual
GPU executes them. Nothing here runs; nothing here knows WDDM.
"""
