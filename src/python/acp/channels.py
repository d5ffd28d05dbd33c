"""Channels: objects, bytes and arrays in one direction, in order, between two ranks."""

from __future__ import annotations

import pickle
import struct
import time
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _acp, life

if TYPE_CHECKING:
    from .memory import Array, Buffer

# The first message of an object: its kind, the bytes of the description of an array, the bytes
# of the object, and the bytes themselves if they fit. Otherwise they are the second message.
_HEAD = struct.Struct("<B3xIQ")
_FIRST_BYTES = 4096
_PICKLE, _BYTES, _ARRAY = 0, 1, 2

# Requests that are under way keep their buffers, although the program forgets them.
_under_way: set[Request] = set()
life.at_end(_under_way.clear)


class Request:
    """A send or a receive that is under way. wait() ends it; its buffers stay until then."""

    def __init__(self, parts: list[tuple[int, Any]]) -> None:
        self._parts = parts  # Handles of the library, each with its buffer.
        self.size = 0
        _under_way.add(self)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it is complete; False when the time in seconds is over.

        size is then the number of bytes received. A request that is complete stays so.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while self._parts:
            left = None if end is None else max(end - time.monotonic(), 0.0)
            try:
                size = _acp.wait_ch(self._parts[0][0], left)
            except Exception:
                self._end()
                raise
            if size is None:
                return False
            self.size = size
            del self._parts[0]
        self._end()
        return True

    def _end(self) -> None:
        self._parts.clear()
        _under_way.discard(self)


def wait_all(requests: Iterable[Request]) -> list[int]:
    """Waits for several requests, and returns their sizes."""
    sizes = []
    for request in requests:
        request.wait()
        sizes.append(request.size)
    return sizes


class Channel:
    """This rank's end of a channel from one rank to another. Both ranks create theirs.

    send(object) and recv() carry NumPy arrays and bytes as they are, and other objects as
    pickles. send_raw() and recv_raw() carry the bytes of a buffer as one message of
    acp/channel.h. `with` frees the end.
    """

    def __init__(self, sender: int, receiver: int) -> None:
        self.sender = sender
        self.receiver = receiver
        self._handle = _acp.create_ch(sender, receiver)

    def send(self, value: Any) -> None:
        """Sends an object. Returns when it may be changed again, which a large array may be
        only when the receiver has it."""
        self.isend(value).wait()

    def isend(self, value: Any) -> Request:
        """Starts to send an object, which must not change until wait() of the request."""
        kind, description, data = _packed(value)
        head = _HEAD.pack(kind, len(description), data.nbytes) + description
        if len(head) > _FIRST_BYTES:
            raise ValueError("the dtype of this array has too many fields: send its bytes")
        if len(head) + data.nbytes <= _FIRST_BYTES:
            return Request([self._post(_acp.nbsend_ch, head + data.tobytes())])
        return Request([self._post(_acp.nbsend_ch, head), self._post(_acp.nbsend_ch, data)])

    def recv(self, out: Array | None = None) -> Any:
        """Waits for the next object and returns it. An array goes straight into `out`."""
        room = bytearray(_FIRST_BYTES)
        first = memoryview(room)[:self._receive(room)]
        kind, described, size = _HEAD.unpack_from(first)
        body = first[_HEAD.size + described:]
        if kind == _ARRAY:
            return self._array(pickle.loads(first[_HEAD.size:_HEAD.size + described]), body, size,
                               out)
        if size != len(body):
            body = memoryview(bytearray(size))
            self._receive(body)
        return bytes(body) if kind == _BYTES else pickle.loads(body)

    def send_raw(self, buffer: Buffer) -> Request:
        """Starts to send the bytes of a buffer as one message."""
        return Request([self._post(_acp.nbsend_ch, buffer)])

    def recv_raw(self, buffer: Buffer) -> Request:
        """Starts to receive the next message into a buffer. A longer one loses its end."""
        return Request([self._post(_acp.nbrecv_ch, buffer)])

    def free(self) -> None:
        """Frees this end. Messages that were sent still arrive."""
        Request([(_acp.nbfree_ch(self._handle), None)]).wait()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None and life.is_running():
            self.free()

    def _post(self, post: Any, buffer: Any) -> tuple[int, Any]:
        kept = memoryview(buffer)
        return post(self._handle, kept), kept

    def _receive(self, buffer: Any) -> int:
        request = self.recv_raw(buffer)
        request.wait()
        return request.size

    def _array(self, description: tuple[Any, tuple[int, ...]], body: memoryview, size: int,
               out: Array | None) -> Array:
        import numpy as np

        dtype, shape = description
        array: Array = np.empty(shape, dtype) if out is None else out
        is_fit = (array.dtype == dtype and array.shape == shape and array.flags.c_contiguous)
        target = array if is_fit else np.empty(shape, dtype)
        if size == len(body):
            target.reshape(-1).view("u1").data[:] = body
        else:
            self._receive(target.reshape(-1).view("u1"))
        if not is_fit:
            raise ValueError(f"an array {shape} of {dtype} came for one {array.shape} of "
                             f"{array.dtype}; both have to be equal, and in one piece")
        return array


def _packed(value: Any) -> tuple[int, bytes, memoryview]:
    """The kind of an object, the description of an array, and the bytes."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        view = memoryview(value)
        return _BYTES, b"", view.cast("B") if view.c_contiguous else memoryview(view.tobytes())
    if _is_plain_array(value):
        import numpy as np

        array = np.ascontiguousarray(value)
        description = pickle.dumps((array.dtype, value.shape))
        return _ARRAY, description, array.reshape(-1).view("u1").data
    return _PICKLE, b"", memoryview(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))


def _is_plain_array(value: Any) -> bool:
    """Whether it is a NumPy array without objects. A program without NumPy has none."""
    kind = type(value)
    return kind.__module__ == "numpy" and kind.__name__ == "ndarray" and not value.dtype.hasobject
