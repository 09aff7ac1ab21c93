"""The wires: MessagePack-RPC between the processes of the stack.

* :mod:`~wddm.wire.message`: messages, declared once as annotated classes
* :mod:`~wddm.wire.connection`: the protocol without I/O: bytes in, messages out
* :mod:`~wddm.wire.transport`, :mod:`~wddm.wire.channel`: the same over sockets and memory streams, with trio
* :mod:`~wddm.wire.memory`: memory that two processes share, and its descriptor
* :mod:`~wddm.wire.address`: ``unix:PATH`` and ``tcp:HOST:PORT``
* :mod:`~wddm.wire.api`, :mod:`~wddm.wire.thunk`, :mod:`~wddm.wire.bus`: the messages of the three boundaries
"""
