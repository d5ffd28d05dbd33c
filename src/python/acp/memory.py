"""Global memory: starter memory, the heap, and registered arrays, as views for NumPy."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Union

from . import _acp, life

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, DTypeLike

    Array = np.ndarray[Any, Any]
    Buffer = Union[bytes, bytearray, memoryview, Array, "Memory"]

# Registered memory of this rank by its address: a registration keeps the array alive.
_registered: dict[int, Memory] = {}
life.at_end(_registered.clear)


class Memory(_acp.Region):
    """A range of global memory on some rank.

    Functions that take an address take a Memory, which means its first byte. memory[8:16] is a
    part, which keeps the whole alive. Where the process can reach the bytes, array() and
    memoryview() are views without a copy. That is so for all own memory, and for starter memory
    and the heap of ranks on the same host. A Memory can be pickled and sent to other ranks.
    """

    _end: Callable[[], None] | None = None

    @property
    def rank(self) -> int:
        """The rank that has the memory."""
        return _acp.query_rank(self.ga)

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"acp.Memory({self.ga:#x}, {self.size} bytes{', freed' if self.closed else ''})"

    def __getitem__(self, part: slice) -> Memory:
        if not isinstance(part, slice):
            raise TypeError("memory[a:b] is a part; memory.array()[i] is an element")
        start, stop, step = part.indices(self.size)
        if step != 1:
            raise ValueError("a part of memory is in one piece: its step is 1")
        pointer = self.pointer + start if self.is_reachable else 0
        return Memory(self.ga + start, max(stop - start, 0), pointer, self)

    def __reduce__(self) -> tuple[Callable[[int, int], Memory], tuple[int, int]]:
        return attach, (self.ga, self.size)

    def at(self, offset: int) -> int:
        """The global address of a byte; IndexError outside of the memory."""
        if not 0 <= offset < self.size:
            raise IndexError(f"offset {offset} is outside of {self!r}")
        return self.ga + offset

    def array(self, dtype: DTypeLike = "u1", shape: int | tuple[int, ...] | None = None,
              offset: int = 0) -> Array:
        """A NumPy array that is a view of the bytes from `offset` on, without a copy.

        Without a shape it has one dimension, and takes all bytes.
        """
        import numpy as np

        kind = np.dtype(dtype)
        whole: Any = self
        if shape is None:
            view: Array = np.frombuffer(whole, kind, (self.size - offset) // kind.itemsize, offset)
            return view
        sides = (shape,) if isinstance(shape, int) else shape
        count = 1
        for side in sides:
            count *= side
        view = np.frombuffer(whole, kind, count, offset).reshape(sides)
        return view

    def get(self, size: int | None = None, offset: int = 0) -> bytes:
        """A copy of the bytes, from whatever rank. Waits for them."""
        return _acp.read(self._address(offset), self.size - offset if size is None else size)

    def get_into(self, buffer: Buffer, offset: int = 0) -> None:
        """Fills an array or another writable buffer with the bytes. Waits for them."""
        _acp.read_into(self._address(offset), buffer)

    def put(self, data: Buffer, offset: int = 0) -> None:
        """Copies an array or other bytes here, on whatever rank. Complete when it returns."""
        _acp.write(self._address(offset), data)

    def _address(self, offset: int) -> int:
        if self.closed:
            raise ValueError(f"{self!r} has been freed")
        return self.ga + offset

    def free(self) -> None:
        """Gives a block of malloc() back, or ends a registration.

        BufferError while arrays are views of it. Other ranks must not use it any more.
        """
        self.close()
        end, self._end = self._end, None
        if end is not None and life.is_running():
            end()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        if kind is None:
            self.free()


def attach(ga: int, size: int) -> Memory:
    """Memory at a global address that another rank has told."""
    return Memory(ga, size, _acp.pointer(ga))


def starter(rank: int | None = None) -> Memory:
    """The starter memory of a rank, by default of this one. It is zero at the start."""
    ga = _acp.query_starter_ga(_acp.rank() if rank is None else rank)
    return attach(ga, _acp.setting("ACP_STARTER_MEMORY"))


def malloc(size: int, rank: int | None = None) -> Memory:
    """Allocates bytes of the heap of a rank, by default of this one; they are not cleared.

    The block stays until free(), also when this object is gone: other ranks may have its
    address.
    """
    ga = _acp.malloc(size, _acp.rank() if rank is None else rank)
    memory = attach(ga, size)
    memory._end = lambda: _acp.free(ga)
    return memory


def register(array: ArrayLike | Buffer, color: int = 0) -> Memory:
    """Makes an array or another writable buffer in one piece reachable for all ranks.

    The array stays alive until free() or the end of the job.
    """
    source = memoryview(array).cast("B")  # type: ignore[arg-type]
    key, ga, pointer = _acp.register_memory(source, color)
    memory = Memory(ga, source.nbytes, pointer, source)
    _registered[ga] = memory

    def end() -> None:
        del _registered[ga]
        _acp.unregister_memory(key)

    memory._end = end
    return memory
