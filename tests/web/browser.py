"""A real browser, driven from outside: Debian's Chromium, without a window."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

T = TypeVar("T")

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# A shared machine stalls now and then.
PATIENCE = 30.0


def missing() -> str | None:
    """Why there is no browser here; None if there is one."""
    if _browser() is None:
        return "there is no Chromium here: `apt-get install chromium chromium-driver` brings it"
    if shutil.which("chromedriver") is None:
        return "there is a Chromium, but no chromedriver: `apt-get install chromium-driver` brings it"
    return None


def _browser() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@contextmanager
def chromium(width: int = 1500, height: int = 1250) -> Iterator[Window]:
    options = webdriver.ChromeOptions()
    options.binary_location = _browser() or ""
    # As root, in a container, there is no sandbox and little shared memory; and nobody looks.
    for option in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--lang=en-US"):
        options.add_argument(option)
    options.add_argument(f"--window-size={width},{height}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or ""))
    try:
        yield Window(driver)
    finally:
        driver.quit()


class Window:
    """What a person does with the page: look for something, click, type."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        # Away first, so that an address that differs in its fragment alone is loaded too.
        self.driver.get("about:blank")
        self.driver.get(address)
        self.see("#live.on, #trouble .problem")

    def see(self, selector: str, text: str = "") -> WebElement:
        """The first element there is, or comes to be, that shows the text."""

        def look() -> WebElement | None:
            found = self.driver.find_elements(By.CSS_SELECTOR, selector)
            return next((each for each in found if text in (each.text or each.get_attribute("value") or "")), None)

        return self.until(look, f"{selector} with {text!r}")

    def gone(self, selector: str) -> None:
        self.until(lambda: not self.driver.find_elements(By.CSS_SELECTOR, selector) or None, f"no {selector}")

    def all(self, selector: str) -> list[str]:
        """The texts of all that there are now."""
        return [each.text for each in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def click(self, selector: str, text: str = "") -> None:
        def press() -> bool | None:
            element = self.see(selector, text)
            self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
            element.click()
            return True

        self.until(press, f"a click on {selector}")

    def type(self, selector: str, *keys: str) -> None:
        self.see(selector).send_keys(*keys)

    def keys(self, *keys: str) -> None:
        """To whatever has the focus."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def run(self, script: str) -> object:
        found: object = self.driver.execute_script(script)
        return found

    def complaints(self) -> list[str]:
        """What the browser's console has to say: errors of scripts, and what its policy kept from loading.

        That a question was refused is no complaint.
        """
        entries = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [each["message"] for each in entries if each["level"] == "SEVERE" and "/api/" not in each["message"]]

    def picture(self, path: Path) -> None:
        self.driver.save_screenshot(str(path))

    def until(self, look: Callable[[], T | None], what: str) -> T:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                found = look()
            except (StaleElementReferenceException, WebDriverException):
                # The page drew it anew in between, or something lies over it for a moment.
                found = None
            if found is not None:
                return found
            if time.monotonic() > deadline:
                raise AssertionError(f"the page does not show {what}; it says:\n{self.see('body').text}")
            time.sleep(0.05)
