"""Kernels over rows of 64-bit integers: hash indexes in chains, the counts of rows and how they are about to change.

An index has the newest row of each bucket in `heads`, and in `links` the one before it. Rows that are gone stay in
their chains, with a count of 0, until the table is packed.
"""

from __future__ import annotations

import numpy as np

from whence.columns.compiled import inlined, kernel, shared_kernel
from whence.columns.encoding import Array

NOTHING = -1
# So many lookups are begun at once.
AHEAD = 64


@inlined
def mixed(hash_: int, value: int) -> int:
    """One more value in a hash."""
    hash_ = (hash_ ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return hash_ ^ (hash_ >> np.uint64(32))


@inlined
def bucket_of_row(rows: Array, row: int, columns: Array, heads: Array) -> int:
    """Where the values of a row at some columns belong."""
    hash_ = np.uint64(len(columns) + 1)
    for column in columns:
        hash_ = mixed(hash_, rows[row, column])
    return np.int64(hash_ & np.uint64(len(heads) - 1))


@inlined
def bucket_of_values(values: Array, at: int, columns: Array, heads: Array) -> int:
    """The same for values that lie in columns, one after the other."""
    hash_ = np.uint64(len(columns) + 1)
    for column in columns:
        hash_ = mixed(hash_, values[column, at])
    return np.int64(hash_ & np.uint64(len(heads) - 1))


@inlined
def is_row(rows: Array, row: int, values: Array, at: int) -> bool:
    for column in range(values.shape[0]):  # noqa: SIM110 - numba has no all()
        if rows[row, column] != values[column, at]:
            return False
    return True


@kernel
def link(rows: Array, first: int, end: int, columns: Array, heads: Array, links: Array) -> None:
    """Put rows into an index."""
    for row in range(first, end):
        place = bucket_of_row(rows, row, columns, heads)
        links[row] = heads[place]
        heads[place] = row


@kernel
def unlink(rows: Array, first: int, end: int, columns: Array, heads: Array, links: Array) -> None:
    """Take the newest rows out of an index again."""
    for row in range(end - 1, first - 1, -1):
        heads[bucket_of_row(rows, row, columns, heads)] = links[row]


@kernel
def gather(rows: Array, numbers: Array, places: Array, words: Array) -> None:
    """The values of rows, column by column, each column in its place."""
    for at in range(len(numbers)):
        for column in range(len(places)):
            words[places[column], at] = rows[numbers[at], column]


@kernel
def add_totals(weights: Array) -> tuple[int, int]:
    """How many rows come, and how many go."""
    coming = going = 0
    for weight in weights:
        if weight > 0:
            coming += weight
        else:
            going -= weight
    return coming, going


@kernel
def enter(
    rows: Array, size: int, identity: Array, heads: Array, links: Array, new: Array, first: int, found: Array
) -> tuple[int, int]:
    """Find rows from a first one on, or add them as long as there is room; their numbers come into `found`.

    Answers how many rows there are then, and how far it got. The index is on the columns of `identity`, which are
    enough to tell most rows apart.
    """
    width, length = new.shape
    for start in range(first, length, AHEAD):
        end = min(start + AHEAD, length)
        touch(rows, identity, heads, new, start, end, found)
        for at in range(start, end):
            place = found[at]
            row = np.int64(heads[place])
            while row != NOTHING and not is_row(rows, row, new, at):
                row = np.int64(links[row])
            if row == NOTHING:
                if size == len(rows):
                    return size, at
                row = np.int64(size)
                size += 1
                for column in range(width):
                    rows[row, column] = new[column, at]
                links[row] = heads[place]
                heads[place] = row
            found[at] = row
    return size, length


@inlined
def touch(rows: Array, columns: Array, heads: Array, values: Array, start: int, end: int, places: Array) -> None:
    """The buckets of values. They and their first rows are read together: memory is not waited for each time."""
    for at in range(start, end):
        places[at] = bucket_of_values(values, at, columns, heads)
    width = rows.shape[1]
    if width == 0:
        return
    total = 0
    for at in range(start, end):
        row = heads[places[at]]
        if row >= 0:
            total += rows[row, 0] + rows[row, width - 1]
    if total == 1 and end == 0:
        # It never is, but that cannot be known: else nothing would be read.
        places[start] = total


@inlined
def touch_first(heads: Array, places: Array, start: int, end: int, kept: Array) -> None:
    """Read what is kept of the first rows of buckets, likewise."""
    total = 0
    for at in range(start, end):
        row = heads[places[at]]
        if row >= 0:
            total += kept[row]
    if total == 1 and end == 0:
        places[start] = total


@shared_kernel
def find(
    rows: Array, identity: Array, heads: Array, links: Array, wanted: Array, first: int, last: int, found: Array
) -> None:
    """The numbers of rows, or NOTHING, of those wanted from a first one up to a last."""
    for start in range(first, last, AHEAD):
        end = min(start + AHEAD, last)
        touch(rows, identity, heads, wanted, start, end, found)
        for at in range(start, end):
            row = np.int64(heads[found[at]])
            while row != NOTHING and not is_row(rows, row, wanted, at):
                row = np.int64(links[row])
            found[at] = row


@inlined
def has_key(rows: Array, row: int, columns: Array, keys: Array, at: int) -> bool:
    for part in range(len(columns)):  # noqa: SIM110 - numba has no all()
        if rows[row, columns[part]] != keys[part, at]:
            return False
    return True


@inlined
def present(counts: Array, pending: Array, row: int, is_after: bool, is_set: bool) -> int:
    """How often a row is there, before the change under way or after it."""
    count = counts[row]
    if is_after:
        count += pending[row]
    if is_set:
        return np.int64(1) if count > 0 else np.int64(0)
    return np.int64(count)


@shared_kernel
def probe(
    rows: Array,
    counts: Array,
    pending: Array,
    is_after: bool,
    is_set: bool,
    columns: Array,
    heads: Array,
    links: Array,
    keys: Array,
    first: int,
    last: int,
    places: Array,
    buckets: Array,
    key_of: Array,
    found: Array,
    weights: Array,
) -> int:
    """Rows that hold a key at the columns: which key, which row, and how often it is there, as far as there is room.

    Answers how many there are for the keys from a first one up to a last. `places` has the numbers of a key's parts,
    and `buckets` room for one of each key.
    """
    total = 0
    for start in range(first, last, AHEAD):
        end = min(start + AHEAD, last)
        touch(rows, places, heads, keys, start, end, buckets)
        touch_first(heads, buckets, start, end, counts)
        for at in range(start, end):
            row = np.int64(heads[buckets[at]])
            while row != NOTHING:
                count = present(counts, pending, row, is_after, is_set)
                if count != 0 and has_key(rows, row, columns, keys, at):
                    if total < len(found):
                        key_of[total] = at
                        found[total] = row
                        weights[total] = count
                    total += 1
                row = np.int64(links[row])
    return total


@kernel
def holds(
    rows: Array,
    counts: Array,
    pending: Array,
    is_after: bool,
    columns: Array,
    heads: Array,
    links: Array,
    keys: Array,
    places: Array,
    held: Array,
) -> None:
    """Whether any row that is there holds a key."""
    for at in range(keys.shape[1]):
        row = np.int64(heads[bucket_of_values(keys, at, places, heads)])
        held[at] = False
        while row != NOTHING:
            if present(counts, pending, row, is_after, True) and has_key(rows, row, columns, keys, at):
                held[at] = True
                break
            row = np.int64(links[row])


@kernel
def add_up(pending: Array, found: Array, weights: Array, changed: Array) -> int:
    """Add weights to rows, and list those whose total is not 0, each once. Answers how many they are."""
    for at in range(len(found)):
        pending[found[at]] += weights[at]
    total = 0
    for at in range(len(found)):
        row = found[at]
        if pending[row] != 0:
            changed[total] = row
            # Out of the way for a moment, so that the row is not listed again.
            weights[total] = pending[row]
            pending[row] = 0
            total += 1
    for at in range(total):
        pending[changed[at]] = weights[at]
    return total


@kernel
def are_there(counts: Array, pending: Array, found: Array) -> bool:
    """Whether rows are there, each as often as it is listed. Nothing is pending."""
    enough = True
    for row in found:
        if row == NOTHING:
            return False
    for row in found:
        pending[row] += 1
        enough = enough and pending[row] <= counts[row]
    for row in found:
        pending[row] = 0
    return enough


@kernel
def show(counts: Array, changed: Array, weights: Array, shown: Array, signs: Array) -> int:
    """Of rows that change in a set, those that come to be there or are there no more. Answers how many they are."""
    total = 0
    for at in range(len(changed)):
        before = counts[changed[at]]
        was, will = before > 0, before + weights[at] > 0
        if was != will:
            shown[total] = changed[at]
            signs[total] = 1 if will else -1
            total += 1
    return total


@kernel
def settle(counts: Array, pending: Array, changed: Array, before: Array, is_set: bool) -> int:
    """Changes have happened. Answers how many rows more are there than before."""
    more = 0
    for at in range(len(changed)):
        row = changed[at]
        was = counts[row]
        will = was + pending[row]
        before[at] = was
        counts[row] = will
        pending[row] = 0
        if is_set:
            more += (will > 0) - (was > 0)
        else:
            more += (will != 0) - (was != 0)
    return more


@kernel
def replace(
    rows: Array,
    size: int,
    pending: Array,
    before: Array,
    has_row: Array,
    words: Array,
    after: Array,
    changed: Array,
    shown: Array,
    signs: Array,
) -> tuple[int, int]:
    """New values for rows, each of which stays, or goes and has another one come. Answers how many rows have a number
    then, and how many change.

    `before` has the rows of each place, NOTHING where there is none; `after` those that are there then. The values of
    rows that change come into `shown`, and whether they come or go.
    """
    total = 0
    for at in range(len(before)):
        old = before[at]
        if has_row[at] and old != NOTHING and is_row(rows, old, words, at):
            after[at] = old
            continue
        if old != NOTHING:
            pending[old] = -1
            for column in range(words.shape[0]):
                shown[column, total] = rows[old, column]
            changed[total] = old
            signs[total] = -1
            total += 1
        after[at] = NOTHING
        if has_row[at]:
            for column in range(words.shape[0]):
                rows[size, column] = words[column, at]
                shown[column, total] = words[column, at]
            pending[size] = 1
            after[at] = size
            changed[total] = size
            signs[total] = 1
            total += 1
            size += 1
    return size, total
