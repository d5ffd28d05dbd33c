"""How objects become the bytes of keys, values and elements, and objects again.

A structure takes `object` (pickles, the default), `bytes`, `str`, `int` (8 bytes) or `float`
(8 bytes), or a Codec of the program.
"""

from __future__ import annotations

import io
import operator
import pickle
import struct
from collections.abc import Callable
from typing import Any, Generic, TypeVar, Union

T = TypeVar("T")


class Codec(Generic[T]):
    """Two functions: encode(object) gives bytes, decode(bytes) gives the object again.

    name: a name for texts. Both functions are the same on all ranks; a codec that is sent to
    other ranks with its structure can be pickled.
    """

    def __init__(self, name: str, encode: Callable[[T], bytes],
                 decode: Callable[[bytes], T]) -> None:
        self.name = name
        self.encode = encode
        self.decode = decode

    def __reduce__(self) -> tuple[Any, ...]:
        if _STANDARD.get(self.name) is self or self is KEY:
            return _standard, (self.name,)
        return Codec, (self.name, self.encode, self.decode)


def _encode_bytes(value: bytes) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"this structure has bytes, not {type(value).__name__}: encode the object, "
                    "or create the structure for objects")


def _encode_text(value: str) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"this structure has texts, not {type(value).__name__}")
    return value.encode("utf-8", "surrogatepass")


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _encode_int(value: int) -> bytes:
    number = operator.index(value)
    if not -1 << 63 <= number < 1 << 63:
        raise OverflowError(f"{value!r} has more than 64 bits: use objects")
    return struct.pack("<q", number)


def _decode_int(data: bytes) -> int:
    return int(struct.unpack("<q", data)[0])


def _encode_float(value: float) -> bytes:
    return struct.pack("<d", float(value))


def _decode_float(data: bytes) -> float:
    return float(struct.unpack("<d", data)[0])


def _encode_object(value: object) -> bytes:
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def _encode_key(value: object) -> bytes:
    """Equal keys have to give equal bytes, whichever rank and object they come from."""
    hash(value)
    _refuse_sets(value)
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, 4)
    pickler.fast = True  # Without a memo, ("a", "a") does not depend on identities.
    pickler.dump(value)
    return stream.getvalue()


def _refuse_sets(value: object) -> None:
    if isinstance(value, frozenset):
        raise TypeError("a frozenset cannot be a key: the order of its elements differs between "
                        "ranks. Use tuple(sorted(...))")
    if isinstance(value, tuple):
        for part in value:
            _refuse_sets(part)


OBJECT: Codec[Any] = Codec("object", _encode_object, pickle.loads)
KEY: Codec[Any] = Codec("key", _encode_key, pickle.loads)
BYTES: Codec[bytes] = Codec("bytes", _encode_bytes, bytes)
TEXT: Codec[str] = Codec("str", _encode_text, _decode_text)
INT: Codec[int] = Codec("int", _encode_int, _decode_int)
FLOAT: Codec[float] = Codec("float", _encode_float, _decode_float)

_STANDARD: dict[str, Codec[Any]] = {
    codec.name: codec for codec in (OBJECT, BYTES, TEXT, INT, FLOAT)}

# What a structure takes as the kind of its keys, values or elements.
Kind = Union[type[T], Codec[T]]


def _standard(name: str) -> Codec[Any]:
    return KEY if name == "key" else _STANDARD[name]


def codec_of(kind: Kind[T]) -> Codec[T]:
    """The codec for a type, or the codec that the program gives."""
    if isinstance(kind, Codec):
        return kind
    codec = _STANDARD.get(getattr(kind, "__name__", ""))
    if codec is None:
        raise TypeError(f"{kind!r} is no kind of elements: object, bytes, str, int, float or an "
                        "acp.Codec")
    return codec


def key_codec_of(kind: Kind[T]) -> Codec[T]:
    """As codec_of(), for keys: pickles of keys do not depend on identities."""
    codec = codec_of(kind)
    return KEY if codec is OBJECT else codec
