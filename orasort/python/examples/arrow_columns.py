"""Sorts Arrow columns of pyarrow and Polars through the PyCapsule interface, which copies no key."""

import polars as pl
import pyarrow as pa

import orasort

table = pa.table({"name": ["pear", None, "apple", "fig"], "price": [3, 1, 2, 5]})
rows = orasort.argsort(table["name"], nulls="first")
print(table.take(pa.array(rows)).to_pylist())
# prints: [{'name': None, 'price': 1}, {'name': 'apple', 'price': 2}, {'name': 'fig', 'price': 5}, {'name': 'pear', 'price': 3}]

print(orasort.sort(table["name"]).to_pylist())
# prints: ['apple', 'fig', 'pear', None]

frame = pl.DataFrame({"path": ["/usr/lib/b", "/usr/lib/a", "/etc"], "size": [1, 2, 3]})
print(frame[pl.Series(orasort.top_k(frame["path"], 2))].rows())
# prints: [('/etc', 3), ('/usr/lib/a', 2)]
