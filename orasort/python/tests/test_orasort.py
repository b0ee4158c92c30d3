"""Holds the module against Python's own sort, for every kind of keys, and looks at what it says of wrong ones."""

import ast
import inspect
import pathlib
import random
import sys
import threading
import time
import unittest

import numpy as np
import polars as pl
import pyarrow as pa

import orasort

HERE = pathlib.Path(__file__).parent


def keys_of(seed: int, count: int) -> list[bytes]:
    """Keys with common prefixes, zero bytes, duplicates and empty ones."""
    draw = random.Random(seed)
    prefixes = [b"", b"\0\0\0", b"https://example.com/", bytes(range(40))]
    letters = bytes(range(draw.choice([2, 4, 256])))
    return [draw.choice(prefixes) + bytes(draw.choices(letters, k=draw.randrange(12))) for _ in range(count)]


def by_python(keys, descending: bool) -> list[int]:
    rows = sorted((row for row, key in enumerate(keys) if key is not None), key=lambda row: keys[row])
    if descending:
        # Python's `reverse=True` is stable, as the module is.
        rows = sorted(rows, key=lambda row: keys[row], reverse=True)
    return rows


ARROW_OF_BYTES = [pa.binary(), pa.large_binary(), pa.binary_view()]
ARROW_OF_STR = [pa.string(), pa.large_string(), pa.string_view()]


class Order(unittest.TestCase):
    """One list of keys in each kind of container."""

    def check(self, column, keys):
        """Every function in both directions. Rows of `None` are null."""
        null = [row for row, key in enumerate(keys) if key is None]
        for descending in (False, True):
            order = by_python(keys, descending)
            for nulls, rows in (("last", order + null), ("first", null + order)):
                options = {"descending": descending, "stable": True, "nulls": nulls}
                self.assertEqual(orasort.argsort(column, **options).tolist(), rows)
                self.assertEqual(list(orasort.sorted_iter(column, **options)), rows)
                for k in (0, 1, 3, len(keys) // 2, len(keys), len(keys) + 5):
                    self.assertEqual(orasort.top_k(column, k, **options).tolist(), rows[:k])
        unstable = orasort.argsort(column).tolist()
        self.assertEqual(sorted(unstable), list(range(len(keys))))
        self.assertEqual([keys[row] for row in unstable], [keys[row] for row in by_python(keys, False) + null])

    def test_lists_and_tuples(self):
        for count in (0, 1, 2, 19, 300, 5000):
            keys = keys_of(count, count)
            self.check(keys, keys)
            self.check(tuple(keys), keys)
            texts = [key.decode("latin-1") + "é€😀"[: len(key) % 4] for key in keys]
            self.check(texts, texts)
            self.assertEqual(orasort.sort(keys), sorted(keys))
            self.assertEqual(orasort.sort(texts, descending=True, stable=True), sorted(texts, reverse=True))
        self.assertEqual(orasort.sort(tuple(keys)), sorted(keys))

    def test_numpy(self):
        keys = [key.replace(b"\0", b"\1") for key in keys_of(7, 3000)]
        array = np.array(keys, dtype="S")
        self.check(array, keys)
        self.check(array[::-1], keys[::-1])
        self.check(array[100:2000:3], keys[100:2000:3])
        self.check(array[:0], [])
        records = np.zeros(len(keys), dtype=[("number", "i4"), ("key", array.dtype)])
        records["key"] = array
        self.check(records["key"], keys)
        readonly = array.copy()
        readonly.flags.writeable = False
        self.check(readonly, keys)
        self.assertTrue((orasort.sort(array) == np.sort(array)).all())
        numbers = np.random.default_rng(1).integers(0, 2**32, 2000).astype(">u4")
        as_bytes = numbers.view("u1").reshape(-1, 4)
        self.assertTrue((numbers[orasort.argsort(as_bytes)] == np.sort(numbers)).all())
        self.assertTrue((numbers[orasort.argsort(numbers.view("V4"))] == np.sort(numbers)).all())
        self.assertTrue((orasort.sort(as_bytes).copy().view(">u4").ravel() == np.sort(numbers)).all())

    def test_arrow(self):
        keys = keys_of(11, 3000)
        texts = [key.decode("latin-1") for key in keys]
        with_nulls = [None if row % 5 == 1 else key for row, key in enumerate(keys)]
        for kind, values in [(kind, keys) for kind in ARROW_OF_BYTES] + [(kind, texts) for kind in ARROW_OF_STR]:
            with self.subTest(kind):
                column = pa.array(values, kind)
                self.check(column, values)
                self.check(column.slice(700, 1300), values[700:2000])
                self.check(column.slice(0, 0), [])
                chunked = pa.chunked_array([column.slice(0, 900), column.slice(900, 0), column.slice(900)])
                self.check(chunked, values)
                if "view" not in str(kind):  # pyarrow cannot take rows of views.
                    self.assertEqual(orasort.sort(column).to_pylist(), sorted(values))
                    self.assertEqual(orasort.sort(chunked).to_pylist(), sorted(values))
                nullable = [None if key is None else value for key, value in zip(with_nulls, values)]
                column = pa.array(nullable, kind)
                self.check(column, nullable)
                self.check(column.slice(3, 1001), nullable[3:1004])
                self.check(pa.chunked_array([column.slice(0, 7), column.slice(7)]), nullable)
        wide = [key.ljust(60, b"\0")[:60] for key in keys]
        self.check(pa.array(wide, pa.binary(60)), wide)
        self.check(pa.array(wide, pa.binary(60)).slice(50, 100), wide[50:150])
        self.check(pa.array([None] * 9, pa.binary()), [None] * 9)
        self.check(pa.chunked_array([], pa.string()), [])

    def test_polars(self):
        keys = keys_of(13, 2000)
        self.check(pl.Series(keys), keys)
        texts = [None if row % 9 == 4 else key.decode("latin-1") for row, key in enumerate(keys)]
        self.check(pl.Series(texts, dtype=pl.String), texts)
        self.assertEqual(orasort.sort(pl.Series(keys)).to_list(), sorted(keys))

    def test_a_view_that_is_null_may_hold_anything(self):
        views = pa.array([None, b"a key that is not in the view itself", b"short"], pa.binary_view())
        validity, table, *data = views.buffers()
        broken = bytearray(table.to_pybytes())
        broken[:16] = b"\xff" * 16
        views = pa.Array.from_buffers(pa.binary_view(), 3, [validity, pa.py_buffer(bytes(broken)), *data])
        self.assertEqual(orasort.argsort(views).tolist(), [1, 2, 0])


class RowNumbers(unittest.TestCase):
    def test_rows_are_read_where_they_are(self):
        rows = orasort.argsort([b"c", b"a", b"b"])
        array, arrow, view = np.asarray(rows), pa.array(rows), memoryview(rows)
        self.assertEqual((array.tolist(), array.dtype), ([1, 2, 0], np.dtype("u4")))
        self.assertEqual((arrow.to_pylist(), arrow.type), ([1, 2, 0], pa.uint32()))
        self.assertEqual(arrow.buffers()[1].address, array.ctypes.data)
        self.assertEqual((view.format, view.readonly, view.tolist()), ("I", True, [1, 2, 0]))
        self.assertEqual(pl.Series(rows).to_list(), [1, 2, 0])
        # Each keeps the numbers alive by itself.
        del rows, view
        again = [orasort.argsort([b"x"] * 3) for _ in range(100)]
        self.assertEqual((array.tolist(), arrow.to_pylist(), len(again)), ([1, 2, 0], [1, 2, 0], 100))
        with self.assertRaises(ValueError):
            array[0] = 5
        self.assertEqual(np.array(["c", "a", "b"])[orasort.argsort(["c", "a", "b"])].tolist(), ["a", "b", "c"])
        # An array that nobody reads is released by its capsule.
        for _ in range(100):
            again[0].__arrow_c_array__()

    def test_rows_are_a_sequence(self):
        rows = orasort.argsort([b"c", b"a", b"b", b"d"])
        self.assertEqual((len(rows), list(rows), rows[0], rows[-1]), (4, [1, 2, 0, 3], 1, 3))
        self.assertEqual((rows[1:3].tolist(), rows[::-2].tolist(), rows[9:].tolist()), ([2, 0], [3, 2], []))
        self.assertEqual(repr(rows), "Rows([1, 2, 0, 3])")
        self.assertEqual(repr(orasort.argsort([b""] * 9)), "Rows([0, 1, 2, 3, 4, 5, 6, 7, ...])")
        for place in (4, -5):
            with self.assertRaises(IndexError):
                rows[place]


class Wrong(unittest.TestCase):
    def test_what_cannot_be_sorted_is_said(self):
        for keys, said in [
            (b"one key", "this is one bytes"),
            ("one key", "this is one str"),
            (bytearray(b"x"), "this is one bytearray"),
            (5, "not int"),
            ({b"a"}, "not set"),
            ([b"a", "b"], "key 1 is str, and has to be bytes"),
            (["a", b"b"], "key 1 is bytes, and has to be str"),
            ([None], "key 0 is NoneType, and has to be bytes or str"),
            ([b"a", bytearray(b"b")], "key 1 is bytearray"),
            (np.array(["a"]), "'U'|dtype S"),
            (np.arange(3), "dtype S"),
            (np.zeros((3, 4), dtype="S2"), "dimensions"),
            (np.array([b"a"], dtype=object), "dtype S"),
            (memoryview(b"one key"), "dtype S"),
            (pa.array([1, 2]), "no column of byte arrays"),
            (pa.array(["a"]).dictionary_encode(), "dictionary-encoded.*cast"),
            (pa.table({"a": ["b"]}), "is a table.*columns"),
            (pa.record_batch({"a": ["b"]}), "is a table.*columns"),
        ]:
            for function in (orasort.argsort, orasort.sort, orasort.sorted_iter, lambda keys: orasort.top_k(keys, 1)):
                with self.subTest(keys), self.assertRaisesRegex(TypeError, said):
                    function(keys)

    def test_options_are_checked(self):
        with self.assertRaisesRegex(ValueError, '"first" or "last"'):
            orasort.argsort([b"a"], nulls="middle")
        with self.assertRaises(OverflowError):
            orasort.top_k([b"a"], -1)
        with self.assertRaises(TypeError):
            orasort.argsort([b"a"], True)
        with self.assertRaises(UnicodeEncodeError):
            orasort.argsort(["a", "\ud800"])
        with self.assertRaisesRegex(TypeError, "neither take nor gather"):
            orasort.sort(memoryview(np.array([b"a"])))

    def test_a_capsule_is_used_once(self):
        class Once:
            def __init__(self):
                self.capsules = pa.array([b"b", b"a"]).__arrow_c_array__()

            def __arrow_c_array__(self, requested_schema=None):
                return self.capsules

        once = Once()
        self.assertEqual(orasort.argsort(once).tolist(), [1, 0])
        with self.assertRaisesRegex(ValueError, "used before"):
            orasort.argsort(once)

    def test_an_error_of_a_stream_is_passed_on(self):
        def batches():
            yield pa.record_batch({"a": ["b"]})
            raise OSError("the disk is gone")

        class Broken:
            def __arrow_c_stream__(self, requested_schema=None):
                struct = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.string()}), batches())
                return struct.__arrow_c_stream__()

        with self.assertRaises(TypeError):
            orasort.argsort(Broken())


class Memory(unittest.TestCase):
    def test_an_iterator_keeps_its_keys(self):
        def begun():
            keys = [b"key %d" % (number * 7919 % 5000) for number in range(5000)]
            rows = orasort.sorted_iter(keys)
            return keys, rows, next(rows)

        keys, rows, first = begun()
        expected = by_python(keys, False)
        keys.clear()
        del keys
        self.assertEqual([first, *rows], expected)
        column = pa.array(["b" * 50, "a" * 50])
        rows = orasort.sorted_iter(column)
        del column
        self.assertEqual(list(rows), [1, 0])

    def test_an_array_may_change_under_an_iterator(self):
        array = np.array([b"key %06d" % (number * 7919 % 5000) for number in range(5000)])
        expected = orasort.argsort(array).tolist()
        rows = orasort.sorted_iter(array)
        first = next(rows)
        array[:] = b"zzz"
        self.assertEqual([first, *rows], expected)

    def test_nothing_is_leaked(self):
        key = bytes(200_000)
        before = sys.getrefcount(key)
        for _ in range(50):
            keys = [key, b"a"]
            orasort.argsort(keys)
            orasort.sort(keys)
            next(orasort.sorted_iter(keys))
            with self.assertRaises(TypeError):
                orasort.argsort([key, 5])
        del keys
        self.assertEqual(sys.getrefcount(key), before)
        array = np.array([b"a", b"b"])
        orasort.argsort(array)
        array.resize(4)  # Refused while anything holds a view of it.
        allocated = pa.total_allocated_bytes()
        for _ in range(50):
            orasort.argsort(pa.array([b"x" * 1000] * 100))
            orasort.argsort(pa.chunked_array([[b"x" * 1000], [b"y" * 1000]]))
        self.assertEqual(pa.total_allocated_bytes(), allocated)


class Threads(unittest.TestCase):
    def test_the_interpreter_is_released_while_sorting(self):
        keys = np.random.default_rng(3).bytes(16 * 1_500_000)
        keys = np.frombuffer(keys, dtype="V16")
        # If it were held, this thread would stand still for all of each sort. On a machine that does much else it does so
        # for most of some.
        stood_still = [self.stands_still_for(keys) for _ in range(10)]
        self.assertLess(min(stood_still), 0.8, stood_still)

    def stands_still_for(self, keys):
        """The longest time that this thread did nothing while another sorted, as a share of what the sort took."""
        ended = threading.Event()
        longest = 0.0

        def sort():
            orasort.argsort(keys)
            ended.set()

        began = time.perf_counter()
        thread = threading.Thread(target=sort)
        thread.start()
        last = time.perf_counter()
        while not ended.is_set():
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
        thread.join()
        return max(longest, time.perf_counter() - last) / (time.perf_counter() - began)

    def test_threads_may_share_keys_and_an_iterator(self):
        keys = [b"key %d" % (number * 7919 % 20000) for number in range(20000)]
        expected = orasort.argsort(keys).tolist()
        rows = orasort.sorted_iter(keys)
        pulled = [[] for _ in range(4)]
        threads = [threading.Thread(target=lambda part=part: part.extend(rows)) for part in pulled]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(sum(pulled, [])), sorted(expected))
        self.assertTrue(all(part == sorted(part, key=lambda row: keys[row]) for part in pulled))


class Stubs(unittest.TestCase):
    def test_stubs_describe_the_module(self):
        tree = ast.parse((HERE.parent / "orasort.pyi").read_text())
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        public = {name for name in orasort.__all__ if not name.startswith("_")}
        described = {name for name in [*functions, *classes] if not name.startswith("_")}
        self.assertEqual(described, public)
        for name, node in functions.items():
            parameters = inspect.signature(getattr(orasort, name)).parameters
            stub = [argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]]
            self.assertEqual(list(parameters), stub, name)
            defaults = [ast.literal_eval(default) for default in node.args.kw_defaults]
            keyword = [each.default for each in parameters.values() if each.kind is each.KEYWORD_ONLY]
            self.assertEqual(keyword, defaults, name)
        for name in ("Rows", "SortedIter"):
            for method in classes[name].body:
                if isinstance(method, ast.FunctionDef) and method.name != "__buffer__":
                    self.assertTrue(hasattr(getattr(orasort, name), method.name), f"{name}.{method.name}")

    def test_the_package_is_typed(self):
        folder = pathlib.Path(orasort.__file__).parent
        self.assertTrue((folder / "py.typed").exists())
        self.assertEqual((folder / "__init__.pyi").read_text(), (HERE.parent / "orasort.pyi").read_text())


if __name__ == "__main__":
    unittest.main()
