"""Sorts keys that are byte arrays: by common prefix skipping, without copying or moving the keys.

Keys are a list or tuple of bytes or of str, a NumPy array of dtype S (or V, or two dimensions of uint8), or anything with
the Arrow PyCapsule interface: columns of binary, string, their large and view variants and fixed_size_binary, in one piece
or in chunks. They order as their bytes do; str as its UTF-8, which is the order of code points.

Every function releases the interpreter while it sorts. Memory that it reads must not be written to meanwhile.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, overload

__version__: str

class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

# What has the buffer protocol can only be named as `collections.abc.Buffer` from Python 3.12 on.
_Keys: TypeAlias = list[bytes] | tuple[bytes, ...] | list[str] | tuple[str, ...] | _ArrowArray | _ArrowStream | Any
_Nulls: TypeAlias = Literal["first", "last"]
_Column = TypeVar("_Column")

def argsort(keys: _Keys, *, descending: bool = False, stable: bool = False, nulls: _Nulls = "last") -> Rows:
    """The rows of the keys in their order.

    `stable` keeps rows of equal keys in their order. `nulls` says where rows without a key go, whatever the direction.
    TypeError: the keys are none that can be sorted. OverflowError: there are 2**32 or more.
    """

def top_k(keys: _Keys, k: int, *, descending: bool = False, stable: bool = False, nulls: _Nulls = "last") -> Rows:
    """The first `k` rows of `argsort`, or all if there are fewer, in less time."""

@overload
def sort(
    keys: list[bytes] | tuple[bytes, ...], *, descending: bool = False, stable: bool = False, nulls: _Nulls = "last"
) -> list[bytes]: ...
@overload
def sort(
    keys: list[str] | tuple[str, ...], *, descending: bool = False, stable: bool = False, nulls: _Nulls = "last"
) -> list[str]: ...
@overload
def sort(keys: _Column, *, descending: bool = False, stable: bool = False, nulls: _Nulls = "last") -> _Column:
    """The keys in their order: a new list of the same objects, or what an array's own `take` or `gather` gives."""

def sorted_iter(
    keys: _Keys, *, descending: bool = False, stable: bool = False, nulls: _Nulls = "last"
) -> SortedIter:
    """An iterator over the rows of `argsort`. The first come long before all are sorted; it can be dropped at any time.

    Keys in memory that can be written to, such as most NumPy arrays, are copied first.
    """

class Rows(Sequence[int]):
    """Row numbers of 32 bits. NumPy, pyarrow, Polars and memoryview read them without a copy."""

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> Rows: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def tolist(self) -> list[int]: ...

class SortedIter(Iterator[int]):
    def __iter__(self) -> SortedIter: ...
    def __next__(self) -> int: ...
