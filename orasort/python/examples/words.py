"""Sorts words in a list and in a NumPy array, and pulls only as many rows as are looked at."""

import numpy as np

import orasort

words = ["pear", "fig", "apple", "Äpfel", "fig"]
print(orasort.sort(words))
# prints: ['apple', 'fig', 'fig', 'pear', 'Äpfel']

print(orasort.argsort(words, descending=True, stable=True).tolist())
# prints: [3, 0, 1, 4, 2]

# Arrays are read where they are; rows are an array of uint32 for NumPy, also without a copy.
array = np.array([b"pear", b"fig", b"apple", b"fig"])
rows = np.asarray(orasort.argsort(array, stable=True))
print(rows, rows.dtype, array[rows])
# prints: [2 1 3 0] uint32 [b'apple' b'fig' b'fig' b'pear']

# The first rows come long before all are sorted; the iterator is dropped when enough was seen.
keys = [b"order-%06d" % (number * 7919 % 100_000) for number in range(100_000)]
for row in orasort.sorted_iter(keys):
    if keys[row] > b"order-000002":
        break
    print(row, keys[row])
# prints: 0 b'order-000000'
# prints: 17679 b'order-000001'
# prints: 35358 b'order-000002'
