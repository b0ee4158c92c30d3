"""Measures the module beside DuckDB, Polars, pyarrow, NumPy and Python's own sort: on one core, in one process.

    compare.py ROUNDS SET=FILE...

A file is what `orasort-bench dump` writes. Prints a table of ns a key: CPU time of the process, the least of the rounds,
every sort of a set once in each round. Every answer is compared with Python's own before anything is measured. The last
rows are what the goal is about: the time of DuckDB and Polars over the time of the module for the same Arrow column, at
least 5 for url and dbms. Polars' `sort` is there for information: it gives keys, not rows, and is not judged.
"""

import os
import sys
import time

os.environ["POLARS_MAX_THREADS"] = "1"

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import orasort

GOAL = 5.0


def column_of(file: str) -> pa.Array:
    """The keys of a file as a binary column: count, offsets, bytes; all numbers little-endian of 64 bits."""
    content = np.fromfile(file, dtype=np.uint8)
    count = int(content[:8].view("<u8")[0])
    offsets = content[8 : 8 * (count + 2)].view("<u8")
    keys = content[8 * (count + 2) :]
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(keys.copy())]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


class Duck:
    """A table of the keys. A query's time is that of ordering and of fetching the rows; what fetching them in the order
    of the table takes, reading each key once, is taken off."""

    def __init__(self, column: pa.Array):
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        source = pa.table({"rid": pa.array(np.arange(len(column), dtype=np.uint32)), "k": column})
        self.connection.register("source", source)
        self.connection.execute("CREATE TABLE keys AS SELECT rid, k FROM source")

    def rows(self, query: str) -> pa.ChunkedArray:
        return self.connection.sql(query).to_arrow_table().column(0)

    def order(self):
        return self.rows("SELECT rid FROM keys ORDER BY k")

    def scan(self):
        return self.rows("SELECT rid FROM keys WHERE octet_length(k) >= 0")


def numpy_of(values: list[bytes]) -> np.ndarray | None:
    """None where NumPy's arrays cannot hold the keys: they end at the last byte that is not zero."""
    return None if any(value.endswith(b"\0") for value in values) else np.array(values, dtype="S")


def sorts_of(column: pa.Array) -> dict:
    values = column.to_pylist()
    series = pl.Series(column)
    duck = Duck(column)
    sorts = {
        "orasort argsort, Arrow": lambda: orasort.argsort(column),
        "orasort argsort, Polars": lambda: orasort.argsort(series),
        "orasort argsort, list": lambda: orasort.argsort(values),
        "orasort sort, list": lambda: orasort.sort(values),
        "DuckDB order by": duck.order,
        "DuckDB scan": duck.scan,
        "Polars arg_sort": series.arg_sort,
        "Polars sort": series.sort,
        "pyarrow sort_indices": lambda: pc.sort_indices(column),
        "list.sort": lambda: sorted(values),
    }
    array = numpy_of(values)
    if array is not None:
        sorts["orasort argsort, NumPy"] = lambda: orasort.argsort(array)
        sorts["NumPy argsort"] = lambda: np.argsort(array)
        sorts["NumPy sort"] = lambda: np.sort(array)
    expected = sorted(values)
    for name, sort in sorts.items():
        check(name, sort(), values, expected)
    return sorts


def check(name: str, answer, values: list[bytes], expected: list[bytes]):
    answer = answer.to_pylist() if hasattr(answer, "to_pylist") else list(answer)
    if isinstance(answer[0], (int, np.integer)):
        answer = [values[row] for row in answer]
    if name != "DuckDB scan" and answer != expected:
        sys.exit(f"{name} answers with another order than Python")


def measured(sorts: dict, count: int, rounds: int) -> dict:
    """CPU time in ns a key of each sort: the least of the rounds."""
    least = dict.fromkeys(sorts, float("inf"))
    for _ in range(rounds):
        for name, sort in sorts.items():
            began = time.process_time_ns()
            answer = sort()
            least[name] = min(least[name], (time.process_time_ns() - began) / count)
            del answer
    least["DuckDB order by"] -= least.pop("DuckDB scan")
    return least


def main():
    rounds, files = int(sys.argv[1]), [argument.split("=", 1) for argument in sys.argv[2:]]
    table = {}
    for name, file in files:
        column = column_of(file)
        table[name] = measured(sorts_of(column), len(column), rounds)
    names = list(dict.fromkeys(name for times in table.values() for name in times))
    print("| ns/key |", " | ".join(table), "|")
    print("| --- |", " | ".join("---:" for _ in table), "|")
    for name in names:
        cells = [f"{times[name]:.0f}" if name in times else "-" for times in table.values()]
        print(f"| {name} |", " | ".join(cells), "|")
    missed = False
    for peer in ("DuckDB order by", "Polars arg_sort", "Polars sort"):
        ratios = [times[peer] / times["orasort argsort, Arrow"] for times in table.values()]
        print(f"| {peer} / orasort, Arrow |", " | ".join(f"{ratio:.1f}x" for ratio in ratios), "|")
        judged = [ratio for (name, _), ratio in zip(files, ratios) if name == "url" or name.startswith("dbms")]
        missed = missed or (peer != "Polars sort" and any(ratio < GOAL for ratio in judged))
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
