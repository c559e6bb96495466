"""Lists of numbers beside a list of names, as joint states have them, as columns by name: as idf.Type.Numbers of Go reads them."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np

Array = np.ndarray[Any, Any]


class Names:
    """The texts of a list ``name`` in each row. Element i of a list of as many numbers beside it is about text i."""

    def __init__(self, rows: list[Any]) -> None:
        self.labels: Optional[list[str]] = None
        """All names, in the order in which they come, if no row has one twice."""
        self.change = False
        self._rows: dict[tuple[str, ...], list[int]] = {}
        last: Any = None
        group: list[int] = []
        for i, own in enumerate(rows):
            if not own or own != last:
                if own and not (isinstance(own, list) and all(isinstance(n, str) for n in own)):
                    return
                group = self._rows.setdefault(tuple(own or ()), [])
                last = own
            group.append(i)
        given = [names for names in self._rows if names]
        if given and all(len(set(names)) == len(names) for names in given):
            self.labels = list(dict.fromkeys(n for names in given for n in names))
        self.change = len(given) > 1

    def table(self, values: list[Optional[Array]]) -> Optional[tuple[Array, Array]]:
        """Lists as rows of the columns ``labels``, NaN where a row has not the name, and which rows have some. None if a list is
        not as long as the names beside it, so that nothing says what its elements are about."""
        if self.labels is None:
            return None
        places = {n: i for i, n in enumerate(self.labels)}
        there = np.array([v is not None and len(v) > 0 for v in values])
        dtype = np.result_type(*{v.dtype for v in values if v is not None and len(v)}) if there.any() else np.dtype(np.float64)
        groups = []
        for names, rows in self._rows.items():
            rows = [i for i in rows if there[i]]
            lists: list[Any] = [values[i] for i in rows]
            if any(len(v) != len(names) for v in lists):
                return None
            if rows:
                groups.append((rows, [places[n] for n in names], np.stack(lists)))
        whole = all(len(columns) == len(self.labels) for _, columns, _ in groups) and there.all()
        if not whole and dtype.kind != "f":
            dtype = np.dtype(np.float64)  # has a NaN
        table = np.full((len(values), len(self.labels)), 0 if whole else np.nan, dtype)
        for rows, columns, numbers in groups:
            table[np.ix_(rows, columns)] = numbers
        return table, there


def aligned(values: Array, labels: list[str], wanted: list[str]) -> Array:
    """Columns of numbers with these labels as those that are wanted, NaN where there is none."""
    if labels == wanted:
        return values
    whole = set(wanted) <= set(labels)
    table = np.full((len(values), len(wanted)), 0 if whole else np.nan, values.dtype if whole or values.dtype.kind == "f" else np.float64)
    for i, label in enumerate(wanted):
        if label in labels:
            table[:, i] = values[:, labels.index(label)]
    return table
