"""Events as the Nexmark generator makes them: of fifty one is a person, three are auctions, and the others are bids.

Needs numpy only, since opponents make the same events in environments of their own. Times are in milliseconds: ten
thousand events are a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Of each fifty events in a row, the first so many.
PEOPLE, AUCTIONS, ALL = 1, 3, 50
EVENTS_PER_MILLISECOND = 10
FIRST = 1_000
FIRST_CATEGORY, CATEGORIES = 10, 5
# One of so many chooses what is not hot.
COLD_AUCTION, COLD_PERSON = 2, 4
HOT_AUCTION_STRIDE, HOT_PERSON_STRIDE = 100, 100
AUCTIONS_IN_FLIGHT, ACTIVE_PEOPLE = 100, 1_000
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
PERSON, AUCTION, BID = 0, 1, 2

Numbers: TypeAlias = NDArray[np.int64]
Columns: TypeAlias = dict[str, "Numbers | NDArray[np.str_]"]


@dataclass(frozen=True)
class Events:
    """By kind: the place of each event in the stream, and its columns."""

    places: tuple[Numbers, Numbers, Numbers]
    columns: tuple[Columns, Columns, Columns]

    def between(self, start: int, stop: int) -> list[tuple[int, int]]:
        """By kind, where the events of this part of the stream begin and end."""
        return [(int(places.searchsorted(start)), int(places.searchsorted(stop))) for places in self.places]


def make(events: int, seed: int = 1) -> Events:
    rng = np.random.default_rng(seed)
    number = np.arange(events)
    epoch, within = number // ALL, number % ALL
    kind = np.where(within < PEOPLE, PERSON, np.where(within < PEOPLE + AUCTIONS, AUCTION, BID))
    at = number // EVENTS_PER_MILLISECOND
    # The newest person and auction at each event. Before the first there is one that is not in the stream.
    newest_person = FIRST + epoch
    newest_auction = FIRST + epoch * AUCTIONS + np.clip(within - PEOPLE, -1, AUCTIONS - 1)
    places = tuple(np.flatnonzero(kind == each) for each in (PERSON, AUCTION, BID))
    people, auctions, bids = places
    person: Columns = {
        "id": newest_person[people],
        "name": np.char.add("person ", rng.integers(0, 99, len(people)).astype(np.str_)),
        "city": np.array(CITIES)[rng.integers(0, len(CITIES), len(people))],
        "state": np.array(STATES)[rng.integers(0, len(STATES), len(people))],
        "date_time": at[people],
    }
    auction: Columns = {
        "id": newest_auction[auctions],
        "item_name": np.char.add("item ", rng.integers(0, 999, len(auctions)).astype(np.str_)),
        "seller": some_person(newest_person[auctions], rng),
        "category": FIRST_CATEGORY + rng.integers(0, CATEGORIES, len(auctions)),
        "date_time": at[auctions],
        "expires": at[auctions] + 1 + rng.integers(0, 2 * AUCTIONS_IN_FLIGHT * ALL // AUCTIONS // 10, len(auctions)),
    }
    hot = newest_auction[bids] // HOT_AUCTION_STRIDE * HOT_AUCTION_STRIDE
    cold = np.maximum(FIRST, newest_auction[bids] - rng.integers(0, AUCTIONS_IN_FLIGHT, len(bids)))
    bid: Columns = {
        "auction": np.where(rng.integers(0, COLD_AUCTION, len(bids)) > 0, np.maximum(hot, FIRST), cold),
        "bidder": some_person(newest_person[bids], rng),
        "price": np.round(100 * 10 ** (6 * rng.random(len(bids)))).astype(np.int64),
        "channel": np.array(CHANNELS)[rng.integers(0, len(CHANNELS), len(bids))],
        "date_time": at[bids],
    }
    return Events((people, auctions, bids), (person, auction, bid))


def some_person(newest: Numbers, rng: np.random.Generator) -> Numbers:
    hot = np.maximum(FIRST, newest // HOT_PERSON_STRIDE * HOT_PERSON_STRIDE)
    cold = np.maximum(FIRST, newest - rng.integers(0, ACTIVE_PEOPLE, len(newest)))
    return np.where(rng.integers(0, COLD_PERSON, len(newest)) > 0, hot, cold)


def rows(columns: Columns) -> list[tuple[Any, ...]]:
    return list(zip(*(column.tolist() for column in columns.values()), strict=True))
