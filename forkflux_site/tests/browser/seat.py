"""A person at a browser: signs in, opens pages, and sees that nothing on them is broken."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

PASSWORD = "a-password-of-the-browser-tests"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
Scheme = Literal["light", "dark"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium. Where there is none the test is skipped loudly, and in CI it fails."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium: apt-get install chromium", pytrace=False)
        pytest.skip("NOT TESTED IN A BROWSER: there is no Chromium (apt-get install chromium)")
    with sync_playwright() as playwright:
        # As root there is no sandbox to be had; it opens pages of this machine only.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class Seat:
    """One browser window at the admin of a server."""

    def __init__(self, browser: Browser, url: str, *, width: int = 1400, scheme: Scheme = "light") -> None:
        context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": 900}, base_url=url
        )
        context.set_default_timeout(15_000)
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console", lambda said: self.complaints.append(said.text) if said.type == "error" else None
        )

    def sign_in(self, name: str) -> None:
        self.page.goto("/admin/")
        self.page.get_by_label("Username").fill(name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Log in").click()
        self.page.get_by_role("heading", name="Overview").wait_for()

    def open(self, address: str) -> None:
        answer = self.page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        self.assert_whole()

    def assert_whole(self) -> None:
        """The page fits its window, and no script on it failed."""
        wide = self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert wide <= 0, f"{self.page.url} is {wide} px wider than its window"
        assert self.complaints == [], f"{self.page.url}: {self.complaints}"
