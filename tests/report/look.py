# A browser for the test of the page of acprun --report: Chromium without a
# screen, and what a test asks of a page.
#
# Exit status 77: there is no Chromium, chromedriver or selenium.
import json
import os
import shutil
import sys
import tempfile

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait
except ImportError:
    print("skipped: there is no python3-selenium")
    sys.exit(77)

LIMIT_S = 60


def browser(dark=False):
    """A new browser; the caller ends it with quit()."""
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    lacking = [name for name, path in programs.items() if path is None]
    if lacking:
        print("skipped: there is no " + " and no ".join(lacking))
        sys.exit(77)
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    # As root Chromium has no sandbox. The page is our own, and there is no network.
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu",
                 "--disable-dev-shm-usage", "--disable-background-networking",
                 "--user-data-dir=" + tempfile.mkdtemp(prefix="report-")):
        options.add_argument(word)
    if dark:
        options.add_argument("--force-dark-mode")
        options.add_argument("--blink-settings=preferredColorScheme=0")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(programs["chromedriver"]), options=options)


class Page:
    """A page of acprun --report in a browser."""

    def __init__(self, driver, path):
        self.driver = driver
        driver.get("file://" + os.path.abspath(path))
        self.until(lambda: driver.execute_script("return document.body.dataset.ready") == "yes")

    def until(self, condition):
        WebDriverWait(self.driver, LIMIT_S).until(lambda _: condition())

    def sum_of_cells(self):
        """The sum of the cells that are drawn. It has to be the sum in the text."""
        cells, text = self.driver.execute_script(
            "return [[...document.querySelectorAll('.cell')].map((c) => +c.dataset.value),"
            " +document.getElementById('traffic-sum').dataset.sum]")
        assert sum(cells) == text, (sum(cells), text)
        return text

    def sum_of_table(self, column):
        """The sum of a column of the table beside the heat map."""
        return self.driver.execute_script(
            "return [...document.querySelectorAll('#traffic tbody tr')]"
            ".reduce((sum, row) => sum + +row.children[arguments[0]].textContent.replaceAll(',', ''), 0)",
            column)

    def rows_of(self, section):
        """The texts of a section's table, row by row."""
        return self.driver.execute_script(
            "return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)]"
            ".map((row) => [...row.children].map((cell) => cell.textContent))", section)

    def choose(self, name, value):
        Select(self.driver.find_element(By.ID, "choose-" + name)).select_by_value(value)

    def choices(self, name):
        return [one.get_attribute("value") for one in
                Select(self.driver.find_element(By.ID, "choose-" + name)).options]

    def press(self, element_id, *keys):
        element = self.driver.find_element(By.ID, element_id)
        for key in keys:
            element.send_keys(key)

    def tip(self):
        element = self.driver.find_element(By.ID, "tip")
        return element.text if element.is_displayed() else None

    def point_at(self, selector):
        """Moves the pointer over the middle of the first such element."""
        element = self.driver.find_element(By.CSS_SELECTOR, selector)
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        webdriver.ActionChains(self.driver).move_to_element(element).perform()

    def problems(self):
        """Messages of the console, and requests for anything but the page."""
        found = [entry["message"] for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            # The browser has a page of its own before this one.
            if (message["method"] == "Network.requestWillBeSent"
                    and message["params"]["documentURL"] == self.driver.current_url):
                url = message["params"]["request"]["url"]
                if url != self.driver.current_url and not url.startswith("data:"):
                    found.append("request for " + url)
        return found

    def is_wider_than_window(self):
        return self.driver.execute_script(
            "return document.documentElement.scrollWidth > document.documentElement.clientWidth")


__all__ = ["By", "Keys", "Page", "browser"]
