"""The page in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import whence
from tests.web.browser import Window, chromium, missing
from whence.database.database import Database
from whence.web import Page, serve

pytestmark = pytest.mark.skipif(missing() is not None, reason=missing() or "")


@pytest.fixture(scope="module")
def window() -> Iterator[Window]:
    with chromium() as made:
        yield made


@pytest.fixture
def page(db: Database, window: Window) -> Iterator[Page]:
    with serve(db, port=0, title="network.sql") as made:
        window.open(made.url)
        yield made
        assert window.complaints() == []


def node(name: str) -> str:
    return f'#graph [data-name="{name}"]'


@pytest.mark.usefixtures("page")
def test_the_graph_shows_sizes_and_the_last_change(window: Window, db: Database) -> None:
    assert "6 rows" in window.see(node("reachable")).text
    assert f"version {db.version}: +6" in window.see(node("reachable")).text
    assert "↻" in window.see(node("reachable")).text
    assert window.run("return document.querySelectorAll('#graph .edge.absent').length") == 1
    assert window.run("return document.querySelectorAll('#graph .edge').length") == 4
    assert window.see("#title").text == "network.sql"


@pytest.mark.usefixtures("page")
def test_the_rows_of_a_relation(window: Window) -> None:
    window.click(node("link"))
    window.see("#relation h2", "link table, 4 rows, key src, dst")
    window.see("#relation tbody td", "NULL")
    assert len(window.all("#relation tbody tr")) == 4
    window.see("#relation .more", "These are all.")
    window.type('#relation .filters input[aria-label$="km is"]', "2")
    window.see("#relation .more", "1 row with these values.")
    window.type('#relation .filters input[aria-label$="km is"]', "x")
    window.see("#relation .problem", "2x")
    window.type('#relation .filters input[aria-label$="km is"]', Keys.BACKSPACE, Keys.BACKSPACE, "99")
    window.see("#relation .nothing", "No row has these values.")


@pytest.mark.usefixtures("page")
def test_the_definition_and_the_plan_by_keyboard(window: Window) -> None:
    window.run(f"document.querySelector('{node('total')}').focus()")
    window.keys(Keys.ENTER)
    window.see("#relation h2", "total view")
    window.run("document.querySelector('#relation [role=tab][aria-selected=true]').focus()")
    window.keys(Keys.ARROW_RIGHT)
    window.see("#relation pre", "CREATE VIEW total AS SELECT src, sum(km) AS km FROM link GROUP BY src")
    window.keys(Keys.ARROW_RIGHT)
    window.see("#relation pre", "kept by counting")
    window.keys(Keys.ARROW_RIGHT)
    window.see("#relation tbody")


@pytest.mark.usefixtures("page")
def test_a_proof_opens_step_by_step(window: Window, db: Database) -> None:
    db.insert("link", [(f"n{at}", f"n{at + 1}", 1) for at in range(12)])
    window.click('#question input[value="why"] + span')
    window.see("#question .field input")
    window.type("#question .field:nth-of-type(1) input", "n0")
    window.type("#question .field:nth-of-type(2) input", "n12", Keys.ENTER)
    window.see('[data-label="1"] > .step', "reachable('n0', 'n12')")
    window.see('[data-label="1"] > .step .by', "JOIN reach r")
    # By mouse, and then by keyboard.
    window.click('[data-label="1.2"] > .step')
    window.see('[data-label="1.2.1"] > .step', "link('n1', 'n2', 1)")
    window.run("document.querySelector('[data-label=\"1.2.2\"]').focus()")
    for depth in range(3, 13):
        label = "1" + ".2" * (depth - 1)
        if depth == 12:
            window.see(f'[data-label="{label}"]', "reachable('n11', 'n12')")
        window.keys(Keys.ARROW_RIGHT)
        window.see(f'[data-label="{label}.1"] > .step', "link(")
        if depth < 12:
            window.keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    window.keys(Keys.HOME, Keys.ARROW_LEFT)
    assert window.see('[data-label="1"]').get_attribute("aria-expanded") == "false"


@pytest.mark.usefixtures("page")
def test_many_members_are_shown_in_parts(window: Window, db: Database) -> None:
    db.insert("link", [("hub", f"n{at:04}", at) for at in range(1_120)])
    window.click('#question input[value="why"] + span')
    window.run("document.querySelector('#question select').value = 'total'")
    window.run("document.querySelector('#question select').dispatchEvent(new Event('change'))")
    window.type("#question .field:nth-of-type(1) input", "hub", Keys.ENTER)
    window.see(".proof button", "950 more rows: show the next")
    window.see("#answer .note", "A limit was reached")
    for left in range(900, 0, -50):
        window.click(".proof button", f"{left + 50} more rows")
        window.see(".proof button", f"{left} more rows")
    window.click(".proof button", "50 more rows")
    window.see(".proof .nothing", "and more that were not looked for")
    assert len(window.all('.proof [role="group"] > [role="treeitem"]')) == 1_000


@pytest.mark.usefixtures("page")
def test_why_from_a_row_and_what_it_rests_on(window: Window) -> None:
    window.click(node("open_ends"))
    window.type('#relation .filters input[aria-label$="dst is"]', "d")
    window.see("#relation .more", "1 row with")
    window.click("#relation td.action button", "why?")
    window.see(".step.absent", "closed('d')")
    window.click("#answer .tools button", "Smallest reasons")
    window.see("#answer .reasons", "link('c', 'd', NULL)")
    window.click("#answer .tools button", "Critical rows")
    window.see("#answer .aside", "If any one of these table rows goes, so does this row")
    window.click("#answer .tools button", "As text")
    window.see("#answer .aside pre", "absent: closed('d')")
    window.click("#answer .tools button", "As a picture")
    window.until(
        lambda: window.run("const i = document.querySelector('.picture img'); return i && i.naturalWidth > 50") or None,
        "the picture",
    )


def test_what_was_typed_stays_and_old_answers_go(window: Window, db: Database) -> None:
    with serve(db, port=0) as page:
        window.open(page.url)
        window.click('#question input[value="why"] + span')
        window.type("#question .field:nth-of-type(1) input", "d")
        window.type("#question .field:nth-of-type(2) input", "a", Keys.ENTER)
        window.see("#answer .problem pre", "hint: “Why not?” tells what is missing")
        # A table that comes meanwhile is shown, and takes nothing away.
        db.execute("CREATE TABLE later(x INT)")
        window.see(node("later"))
        window.see("#question .field:nth-of-type(1) input", "d")
        window.click('#question input[value="why-not"] + span')
        window.gone("#answer .problem")
        window.see("#question .field:nth-of-type(2) input", "a")
        window.click("#question button.main")
        window.see("#answer p", "One row is missing:")
        db.execute("DROP TABLE later")
        window.gone(node("later"))
        window.see("#answer p", "One row is missing:")


@pytest.mark.usefixtures("page")
def test_why_not_and_then_what_if(window: Window, db: Database) -> None:
    before = db.version
    window.click('#question input[value="why-not"] + span')
    window.type("#question .field:nth-of-type(1) input", "d")
    window.type("#question .field:nth-of-type(2) input", "a", Keys.ENTER)
    window.see("#answer p", "One row is missing:")
    window.see("#answer .chip", "link('d', 'a'")
    window.click("#answer .tools button", "What if it came?")
    window.see("#answer .note", "Nothing has been changed.")
    window.see("#answer .change h3", "reachable")
    window.see("#answer .sides th", "Then: 16 rows")
    assert not window.all("#answer button.danger")
    assert db.version == before


@pytest.mark.usefixtures("page")
def test_what_if_side_by_side(window: Window) -> None:
    window.click(node("link"))
    window.type('#relation .filters input[aria-label$="km is"]', "2")
    window.see("#relation .more", "1 row with")
    window.click("#relation td.action button", "if gone")
    window.see("#answer .change h3", "total")
    window.see("#answer .note", "2 views would change")
    window.see("#answer p", "As before: open_ends")
    assert "went" in (window.see("#answer td.went", "b").get_attribute("class") or "")


@pytest.mark.usefixtures("page")
def test_impact(window: Window) -> None:
    window.click(node("link"))
    window.type('#relation .filters input[aria-label$="src is"]', "c")
    window.see("#relation .more", "1 row with")
    window.click("#relation td.action button", "impact")
    window.see("#answer summary", "reachable 3 rows")
    window.see("#answer summary", "open_ends 1 row")


@pytest.mark.usefixtures("page")
def test_sql_with_completion_and_errors(window: Window) -> None:
    window.click('#question input[value="sql"] + span')
    window.type("#question textarea", Keys.CONTROL + "a", Keys.DELETE)
    window.type("#question textarea", "SELECT count(*) AS n FROM rea")
    window.see(".choices li", "reachable")
    window.keys(Keys.TAB, Keys.CONTROL + Keys.ENTER)
    window.see("#answer td", "6")
    window.type("#question textarea", Keys.CONTROL + "a", Keys.DELETE)
    window.type("#question textarea", "DELETE FROM link", Keys.CONTROL + Keys.ENTER)
    window.see("#answer .problem p", "query only reads: it takes SELECT, WITH or VALUES")
    window.see("#answer .problem pre", "1 | DELETE FROM link\n  | ^")


@pytest.mark.usefixtures("page")
def test_changes_show_up_by_themselves(window: Window, db: Database) -> None:
    window.click(node("reachable"))
    window.see("#relation .more", "These are all.")
    db.insert("link", [("d", "e", 9)])
    window.see(node("reachable"), "10 rows")
    window.see("#version", f"version {db.version}")
    window.see("#feed summary", f"Version {db.version}")
    window.click("#feed summary")
    window.see("#feed li.came", "+ d, e, 9")
    window.click("#feed li.came button", "why?")
    window.see("#answer h3", "come?")
    window.see("#answer .chip.came", "+ link('d', 'e', 9)")
    window.see("#relation .note", "These rows have changed since.")
    window.click("#relation .note button")
    window.until(lambda: len(window.all("#relation tbody tr")) == 10 or None, "ten rows")
    db.execute("CREATE VIEW ends AS SELECT dst FROM link")
    db.insert("link", [("e", "f", 1)])
    window.see(node("ends"), "6 rows")


def test_values_are_never_read_as_html(window: Window, db: Database) -> None:
    evil = "<img src=x onerror=alert(1)><b>bold</b>"
    db.insert("link", [(evil, "b", 1)])
    with serve(db, port=0, title="<script>alert(1)</script>") as page:
        window.open(page.url)
        window.see("#title", "<script>alert(1)</script>")
        window.click(node("link"))
        window.see("#relation td", evil)
        window.click("#relation tr:last-child td.action button", "impact")
        window.see("#answer td", evil)
        assert window.run("return document.querySelectorAll('main b img, main td b').length") == 0
        assert window.complaints() == []


def test_an_empty_database(window: Window) -> None:
    with whence.connect() as db, serve(db, port=0) as page:
        window.open(page.url)
        window.see("#graph .nothing", "There is nothing here yet")
        window.see("#question .nothing", "As soon as there are tables")
        window.see("#feed .nothing", "Nothing has changed yet.")
        db.execute("CREATE TABLE t(x INT); INSERT INTO t VALUES (1)")
        window.see(node("t"), "1 row")
        assert window.complaints() == []


def test_the_token_leaves_the_address(window: Window, db: Database) -> None:
    with serve(db, port=0, token="0123456789abcdef-token") as page:  # noqa: S106 - a secret of this test
        window.driver.delete_all_cookies()
        window.open(page.url)
        window.see(node("link"), "4 rows")
        assert "token" not in window.driver.current_url
        assert window.run("return document.cookie") == ""


def test_the_page_makes_changes_where_it_may(window: Window, db: Database) -> None:
    with serve(db, port=0, allow_changes=True) as page:
        window.open(page.url)
        window.click(node("link"))
        window.type('#relation .filters input[aria-label$="km is"]', "2")
        window.see("#relation .more", "1 row with")
        window.click("#relation td.action button", "if gone")
        window.click("#answer button.danger", "Make these changes")
        window.see("#answer .note", "Done: this is version")
        window.see(node("link"), "3 rows")
        assert ("b", "c", 2) not in db.rows("link")


def test_when_the_server_is_gone(window: Window, db: Database) -> None:
    with serve(db, port=0) as page:
        window.open(page.url)
        window.see(node("link"))
    window.see("#live.off", "not connected; trying again")
    window.click(node("link"))
    window.see("#relation .problem", "The server does not answer.")
    window.complaints()


def test_nothing_comes_from_elsewhere(window: Window, page: Page) -> None:
    names = window.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert isinstance(names, list) and names
    assert [name for name in names if not name.startswith(page.url)] == []


@pytest.mark.usefixtures("page")
def test_light_and_dark(window: Window) -> None:
    shade = "return getComputedStyle(document.body).backgroundColor"
    first = window.run(shade)
    window.click("#theme")
    assert window.run(shade) != first
    window.driver.refresh()
    window.see("#live.on")
    assert window.run(shade) != first
    window.click("#theme")


def overlap(window: Window, one: str, other: str) -> object:
    return window.run(f"""
        const [a, b] = ['{one}', '{other}'].map((each) => document.querySelector(each).getBoundingClientRect());
        return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom""")


@pytest.mark.usefixtures("page")
def test_completions_leave_the_button_free(window: Window) -> None:
    window.click('#question input[value="sql"] + span')
    before = window.run("return document.querySelector('#question button.main').getBoundingClientRect().top")
    window.type("#question textarea", " s")
    window.see(".choices li", "src")
    assert overlap(window, ".choices", "#question button.main") is False
    assert window.run("return document.querySelector('#question button.main').getBoundingClientRect().top") == before
    assert window.run("return document.querySelectorAll('.choices [aria-selected=true]').length") == 1
    window.click("#question button.main")
    window.see("#answer .problem")


@pytest.mark.usefixtures("page")
def test_a_row_is_found_by_its_key(window: Window) -> None:
    window.click('#question input[value="impact"] + span')
    window.run("document.querySelector('#question .picker input').focus()")
    window.see(".picker .choices li", "a, b")
    # By keyboard one can go past it.
    window.keys(Keys.TAB)
    assert window.run("return document.activeElement.getAttribute('aria-label')") == "src"
    assert window.run("return document.querySelector('#question .field input').value") == ""
    window.type("#question .picker input", "c d")
    window.until(lambda: window.all(".picker .choices li span") == ["c, d"] or None, "one row")
    window.keys(Keys.ENTER)
    typed = "return [...document.querySelectorAll('#question .field input')].map((each) => each.value)"
    assert window.run(typed) == ["c", "d", ""]
    # Its third value is NULL, and that is not the same as empty.
    assert window.see("#question .none").get_attribute("aria-pressed") == "true"
    window.click("#question button.main")
    window.see("#answer summary", "reachable 3 rows")


@pytest.mark.usefixtures("page")
def test_empty_is_any_value_and_null_is_chosen(window: Window, db: Database) -> None:
    db.insert("link", [("NULL", "x", None), ("x", "NULL", 7)])
    window.click(node("link"))
    window.see("#relation .more", "These are all.")
    window.click("#relation .filters .none")
    window.until(lambda: len(window.all("#relation tbody tr")) == 2 or None, "two rows without a length")
    window.click("#relation .filters .none")
    window.until(lambda: len(window.all("#relation tbody tr")) == 6 or None, "all rows")
    window.type('#relation .filters input[aria-label$="src is"]', "NULL")
    window.until(lambda: len(window.all("#relation tbody tr")) == 1 or None, "a text that reads NULL")
    for kind in ("why", "why-not", "impact", "what-if"):
        window.click(f'#question input[value="{kind}"] + span')
        window.see("#question .convention", "An empty field is any value; NULL is chosen with its button.")
        shown = window.run("return [...document.querySelectorAll('#question .field input')].map((e) => e.placeholder)")
        assert set(shown) == {"any"}  # type: ignore[call-overload]
    # All rows with these values go.
    window.run("document.querySelectorAll('#question .row select')[1].value = 'link'")
    window.run("document.querySelectorAll('#question .row select')[1].dispatchEvent(new Event('change'))")
    window.type("#question .field:nth-of-type(1) input", "a", Keys.ENTER)
    window.see("#answer .change h3", "link table, −2")
    # And a row that comes has all of them.
    window.run("document.querySelector('#question .row select').value = 'insert'")
    window.click("#question button.main")
    window.see("#answer .problem", "dst, km: an inserted row needs a value")
    window.type("#question .field:nth-of-type(2) input", "zz")
    window.click("#question .none")
    window.click("#question button.main")
    window.see("#answer .change h3", "link table, +1")


@pytest.mark.usefixtures("page")
def test_a_member_of_a_group_is_named_once(window: Window, db: Database) -> None:
    db.execute(
        "CREATE VIEW legs AS SELECT a.src, sum(b.km) AS km FROM link a JOIN link b ON a.dst = b.src GROUP BY a.src"
    )
    window.click(node("legs"))
    window.type('#relation .filters input[aria-label$="src is"]', "a")
    window.see("#relation .more", "1 row with")
    window.click("#relation td.action button", "why?")
    window.see(".step.member")
    assert not [text for text in window.all(".step.member") if text.count("together") > 1]


def test_fields_are_as_wide_as_their_type(window: Window) -> None:
    with whence.connect() as db, serve(db, port=0) as page:
        db.execute("CREATE TABLE t(ok BOOLEAN, n INT, s STRING)")
        window.open(page.url)
        window.click('#question input[value="impact"] + span')
        window.see("#question .field")
        ok, n, s = (
            window.see(f'#question .field:nth-of-type({at}) [aria-label="{name}"]')
            for at, name in enumerate(("ok", "n", "s"), 1)
        )
        assert ok.tag_name == "select" and ok.rect["width"] < s.rect["width"] > n.rect["width"]
        assert (n.value_of_css_property("text-align"), s.value_of_css_property("text-align")) == ("right", "start")


def test_a_large_graph_fits_and_zooms(window: Window) -> None:
    with whence.connect() as db, serve(db, port=0) as page:
        db.execute(";".join(f"CREATE TABLE t{at}(x INT)" for at in range(9)))
        db.execute(";".join(f"CREATE VIEW v{at} AS SELECT x FROM t{at}" for at in range(9)))
        window.open(page.url)
        window.see(node("v8"))
        outside = """
            const place = document.querySelector('#graph').getBoundingClientRect();
            return [...document.querySelectorAll('#graph .node')].filter((node) => {
              const { left, right, top, bottom } = node.getBoundingClientRect();
              return left < place.left || right > place.right || top < place.top || bottom > place.bottom;
            }).length"""
        assert window.run(outside) == 0
        box = "return document.querySelector('#graph svg').getAttribute('viewBox')"
        whole = window.run(box)
        window.click("#zoom button", "+")
        nearer = window.run(box)
        assert nearer != whole
        wheel = "new WheelEvent('wheel', {deltaY: -1, cancelable: true})"
        window.run(f"document.querySelector('#graph svg').dispatchEvent({wheel})")
        assert window.run(box) != nearer
        # A node that is reached by keyboard is seen.
        for name in ("t0", "v8"):
            window.run(f"document.querySelector('{node(name)}').focus()")
            seen = window.run(outside.replace("#graph .node", f'#graph [data-name="{name}"]'))
            assert seen == 0
        window.keys(Keys.ARROW_LEFT)
        window.keys("0")
        assert window.run(box) == whole
        window.click("#zoom button", "+")
        ActionChains(window.driver).click_and_hold(window.see("#graph svg")).move_by_offset(-40, 30).release().perform()
        dragged = window.run(box)
        window.click("#zoom button", "Fit")
        assert window.run(box) == whole != dragged
        window.click(node("t3"))
        window.see("#relation h2", "t3 table")


def test_long_cells_are_said_to_be_cut(window: Window, db: Database) -> None:
    db.insert("closed", [("x" * 20_000,)])
    with serve(db, port=0) as page:
        window.open(page.url)
        window.click(node("closed"))
        window.see("#relation .more", "1 cell is shortened, and ends with “…”.")


def test_questions_come_first_on_a_narrow_screen(db: Database) -> None:
    for width, first in ((520, True), (900, True), (1400, False)):
        with chromium(width, 900) as window, serve(db, port=0) as page:
            window.open(page.url)
            window.see(node("reachable"))
            top = "return document.querySelector('{}').getBoundingClientRect().top"
            ask, graph = window.run(top.format("#ask")), window.run(top.format("#relations"))
            assert (ask < graph) is first  # type: ignore[operator]
            assert window.run("return document.documentElement.scrollWidth - innerWidth") <= 0  # type: ignore[operator]


def test_on_a_narrow_screen(db: Database) -> None:
    with chromium(420, 900) as window, serve(db, port=0) as page:
        window.open(page.url)
        window.see(node("reachable"))
        wide = window.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0
