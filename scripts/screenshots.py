"""Makes the pictures of docs/page.md: the page of the example, in a browser that nobody sees.

    python scripts/screenshots.py

It needs Chromium and its driver, as the tests of the page do.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import whence
from whence.cli.run import steps
from whence.model.span import SourceText
from whence.web import serve

if TYPE_CHECKING:
    from tests.web.browser import Window

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "backbone"
PICTURES = ROOT / "docs" / "images" / "page"
WIDTH, HEIGHT = 1400, 1000


def main() -> None:
    # A script is started in its own directory, from where the tests cannot be seen.
    sys.path.insert(0, str(ROOT))
    from tests.web.browser import chromium

    PICTURES.mkdir(parents=True, exist_ok=True)
    with whence.connect() as db, chromium(WIDTH, HEIGHT) as window:
        db.execute((EXAMPLE / "backbone.sql").read_text(), name="backbone.sql", directory=EXAMPLE)
        with serve(db, port=0, title="backbone.sql") as page:
            window.open(page.url)
            window.see("#relation .more", "The first 50 rows")
            picture(window, "overview")
            what_if(window)
            first = next(steps(SourceText("failures.sql", (EXAMPLE / "failures.sql").read_text())))
            db.execute(first.statement)
            window.see("#feed summary", f"Version {db.version}")
            why(window)
            why_not(window)


def why(window: Window) -> None:
    """The detour that traffic takes now, opened to its end."""
    window.click('#graph [data-name="shortest"]')
    window.type('#relation .filters input[aria-label$="src is"]', "London")
    window.type('#relation .filters input[aria-label$="dst is"]', "Reykjavik")
    window.see("#relation .more", "1 row with these values.")
    window.click("#relation td.action button", "why?")
    for label in ("1.2", "1.2.2"):
        window.click(f'[data-label="{label}"] > .step')
    window.see('[data-label="1.2.2.1"]')
    picture(window, "why")
    window.click("#theme")
    window.click("#answer .tools button", "Smallest reasons")
    window.see("#answer .reasons li")
    picture(window, "dark")
    window.click("#theme")


def what_if(window: Window) -> None:
    """A cable of Iceland breaks."""
    window.click('#graph [data-name="link"]')
    window.type('#relation .filters input[aria-label$="src is"]', "London")
    window.type('#relation .filters input[aria-label$="dst is"]', "Reykjavik")
    window.see("#relation .more", "1 row with these values.")
    window.click("#relation td.action button", "if gone")
    window.see("#answer .change h3", "distance")
    picture(window, "what-if")


def why_not(window: Window) -> None:
    """A router that nothing has lost."""
    window.click('#question input[value="why-not"] + span')
    window.run("document.querySelector('#question select').value = 'cut_off'")
    window.run("document.querySelector('#question select').dispatchEvent(new Event('change'))")
    window.type("#question .field:nth-of-type(1) input", "Reykjavik")
    window.click("#question button.main")
    window.see("#answer h3", "Why is this not in cut_off?")
    picture(window, "why-not")


def picture(window: Window, name: str) -> None:
    window.run("document.activeElement.blur(); scrollTo(0, 0)")
    # Nodes that have just changed shine for a moment.
    window.run("document.querySelectorAll('.changed').forEach((node) => node.classList.remove('changed'))")
    window.picture(PICTURES / f"{name}.png")


if __name__ == "__main__":
    main()
