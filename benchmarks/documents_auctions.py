"""A site of auctions as XMark describes it: items of regions, people, open and closed auctions. Made from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator

REGIONS = ("africa", "asia", "australia", "europe", "namerica", "samerica")
WORDS = (
    "against ancient bargain bright broken carved common copper curious deep early faint famous fine forest "
    "gentle glass golden green heavy honest hollow iron island kind large late lively lonely marble market merry "
    "modern narrow noble odd old orange painted pale plain polished quick quiet rare ripe river rough royal sharp "
    "silent silver small smooth soft solid spare stone strange sweet tall thin tiny town true vivid warm white "
    "wide wild winter wooden young"
).split()
CITIES = ("Oslo", "Lagos", "Lima", "Kyoto", "Perth", "Quebec", "Porto", "Tunis", "Cusco", "Ghent")
COUNTRIES = ("Norway", "Nigeria", "Peru", "Japan", "Australia", "Canada", "Portugal", "Tunisia", "Belgium")


class Auctions:
    """Pieces of a site, in no particular order of kinds, as they would arrive: (stream, fragment)."""

    def __init__(self, seed: int = 1) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - no secrets here
        self._made = dict.fromkeys(("item", "person", "open", "closed"), 0)

    def frame(self) -> str:
        """The document before anything arrives: one stream for the items of each region, people and auctions."""
        regions = "".join(f"<{region}><?stream {region}?></{region}>" for region in REGIONS)
        return (
            f"<site><regions>{regions}</regions><people><?stream people?></people>"
            "<open_auctions><?stream open?></open_auctions><closed_auctions><?stream closed?></closed_auctions></site>"
        )

    def fragments(self, size: int) -> Iterator[tuple[str, str]]:
        """Fragments until they are `size` characters together, in the proportions of XMark."""
        made = 0
        kinds = (self._item, self._person, self._open, self._closed)
        while made < size:
            stream, fragment = self._chance.choices(kinds, (22, 26, 12, 10))[0]()
            made += len(fragment)
            yield stream, fragment

    def pieces(self, size: int, piece: int) -> Iterator[tuple[str, str]]:
        """The same in larger pieces: the fragments of each stream are collected until they are `piece` characters."""
        waiting: dict[str, list[str]] = {}
        lengths: dict[str, int] = {}
        for stream, fragment in self.fragments(size):
            waiting.setdefault(stream, []).append(fragment)
            lengths[stream] = lengths.get(stream, 0) + len(fragment)
            if lengths[stream] >= piece:
                yield stream, "".join(waiting.pop(stream))
                del lengths[stream]
        yield from ((stream, "".join(fragments)) for stream, fragments in waiting.items())

    def whole(self, size: int) -> str:
        """The finished document, with all fragments in their places."""
        places: dict[str, list[str]] = {}
        for stream, fragment in self.fragments(size):
            places.setdefault(stream, []).append(fragment)
        text = self.frame()
        for stream in (*REGIONS, "people", "open", "closed"):
            text = text.replace(f"<?stream {stream}?>", "".join(places.get(stream, ())))
        return text

    def _number(self, kind: str) -> int:
        self._made[kind] += 1
        return self._made[kind] - 1

    def _words(self, least: int, most: int) -> str:
        return " ".join(self._chance.choices(WORDS, k=self._chance.randint(least, most)))

    def _some(self, kind: str) -> int:
        return self._chance.randrange(max(1, self._made[kind]))

    def _date(self) -> str:
        chance = self._chance
        return f"{chance.randint(1, 12):02}/{chance.randint(1, 28):02}/{chance.randint(1998, 2001)}"

    def _text(self) -> str:
        """Prose with words that stand out, and now and then a list of such."""
        parts = [self._words(10, 40)]
        for _ in range(self._chance.randint(0, 2)):
            mark = self._chance.choice(("bold", "keyword", "emph"))
            parts.append(f"<{mark}>{self._words(1, 3)}</{mark}> {self._words(5, 30)}")
        return f"<text>{' '.join(parts)}</text>"

    def _description(self) -> str:
        if self._chance.random() < 0.7:
            return f"<description>{self._text()}</description>"
        items = "".join(f"<listitem>{self._text()}</listitem>" for _ in range(self._chance.randint(1, 3)))
        return f"<description><parlist>{items}</parlist></description>"

    def _item(self) -> tuple[str, str]:
        chance, number = self._chance, self._number("item")
        mails = "".join(
            f"<mail><from>{self._words(2, 2)}</from><to>{self._words(2, 2)}</to><date>{self._date()}</date>"
            f"{self._text()}</mail>"
            for _ in range(chance.choice((0, 0, 0, 1, 1, 2)))
        )
        categories = "".join(
            f'<incategory category="category{chance.randrange(100)}"/>' for _ in range(chance.randint(1, 4))
        )
        featured = ' featured="yes"' if chance.random() < 0.1 else ""
        return chance.choices(REGIONS, (1, 4, 4, 12, 20, 2))[0], (
            f'<item id="item{number}"{featured}><location>{chance.choice(COUNTRIES)}</location>'
            f"<quantity>{chance.choice((1, 1, 1, 2, 3))}</quantity><name>{self._words(2, 4)}</name>"
            f"<payment>Creditcard</payment>{self._description()}<shipping>Will ship internationally</shipping>"
            f"{categories}<mailbox>{mails}</mailbox></item>"
        )

    def _person(self) -> tuple[str, str]:
        chance, number = self._chance, self._number("person")
        parts = [f"<name>{self._words(2, 2)}</name><emailaddress>mailto:p{number}@example.org</emailaddress>"]
        if chance.random() < 0.5:
            parts.append(f"<phone>+{chance.randrange(1, 99)} {chance.randrange(10**7)}</phone>")
        if chance.random() < 0.5:
            parts.append(
                f"<address><street>{chance.randrange(1, 99)} {self._words(1, 1)} St</street>"
                f"<city>{chance.choice(CITIES)}</city><country>{chance.choice(COUNTRIES)}</country>"
                f"<zipcode>{chance.randrange(10, 40)}</zipcode></address>"
            )
        if chance.random() < 0.5:
            parts.append(f"<homepage>http://www.example.org/~p{number}</homepage>")
        if chance.random() < 0.5:
            interests = "".join(
                f'<interest category="category{chance.randrange(100)}"/>' for _ in range(chance.randint(0, 4))
            )
            parts.append(
                f'<profile income="{chance.uniform(9_000, 120_000):.2f}">{interests}'
                f"<education>Graduate School</education><business>No</business></profile>"
            )
        return "people", f'<person id="person{number}">{"".join(parts)}</person>'

    def _open(self) -> tuple[str, str]:
        chance, number = self._chance, self._number("open")
        bidders = "".join(
            f"<bidder><date>{self._date()}</date><time>12:00:00</time>"
            f'<personref person="person{self._some("person")}"/>'
            f"<increase>{chance.choice((1.5, 3, 4.5, 6, 9, 12, 18, 21))}</increase></bidder>"
            for _ in range(chance.choice((0, 1, 2, 3, 4, 5, 8)))
        )
        reserve = f"<reserve>{chance.uniform(10, 400):.2f}</reserve>" if chance.random() < 0.5 else ""
        return "open", (
            f'<open_auction id="open_auction{number}"><initial>{chance.uniform(1, 300):.2f}</initial>{reserve}{bidders}'
            f'<current>{chance.uniform(1, 600):.2f}</current><itemref item="item{self._some("item")}"/>'
            f'<seller person="person{self._some("person")}"/><annotation>{self._description()}'
            f"<happiness>{chance.randint(1, 10)}</happiness></annotation><quantity>1</quantity>"
            f"<type>Regular</type><interval><start>{self._date()}</start><end>{self._date()}</end></interval></open_auction>"
        )

    def _closed(self) -> tuple[str, str]:
        chance, number = self._chance, self._number("closed")
        return "closed", (
            f'<closed_auction number="{number}"><seller person="person{self._some("person")}"/>'
            f'<buyer person="person{self._some("person")}"/><itemref item="item{self._some("item")}"/>'
            f"<price>{chance.uniform(1, 600):.2f}</price><date>{self._date()}</date><quantity>1</quantity>"
            f"<type>Regular</type><annotation>{self._description()}<happiness>{chance.randint(1, 10)}</happiness>"
            "</annotation></closed_auction>"
        )
