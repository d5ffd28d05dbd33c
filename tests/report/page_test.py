# Tests the page of acprun --report in Chromium, with jobs of known traffic and
# with the recorded data of 1,024 ranks.
#
#   page_test.py ACPRUN COUNTED DATA [FOLDER]
#
# FOLDER gets pictures of the pages.
import gzip
import os
import subprocess
import sys
import tempfile

from look import Keys, Page, browser

acprun, counted, data = sys.argv[1:4]
pictures = sys.argv[4] if len(sys.argv) > 4 else None
folder = tempfile.mkdtemp(prefix="page-")


def check(condition, what):
    assert condition, what


def page_of_job(ranks, *words):
    path = os.path.join(folder, f"{ranks}.html")
    subprocess.run([acprun, "-np", str(ranks), "--acp-heapsize=1M", "--report", path, counted, *words],
                   check=True, timeout=300)
    return path


def page_of_data(small):
    """A page has its data in one element, so another job's may stand there."""
    with gzip.open(data, "rt") as file:
        report = file.read()
    with open(small) as file:
        page = file.read()
    begin = page.index('id="report">') + len('id="report">')
    path = os.path.join(folder, "1024.html")
    with open(path, "w") as file:
        file.write(page[:begin] + report.replace("<", "\\u003c") + page[page.index("</script>", begin):])
    return path


def look_at_four(page):
    """halo 1000 25: each of 4 ranks puts 25 x 1,000 bytes and adds 25 words to each side."""
    check(page.sum_of_cells() == 4 * 2 * 25 * 1008, "bytes of all operations")
    check(page.sum_of_table(2) == 4 * 2 * 25 * 1008, "bytes in the table")
    page.choose("unit", "operations")
    check(page.sum_of_cells() == 4 * 2 * 50, "operations")
    check(page.sum_of_table(3) == 4 * 2 * 50, "operations in the table")
    page.choose("kind", "atomic")
    check(page.sum_of_cells() == 4 * 2 * 25, "atomics")
    page.choose("unit", "bytes")
    check(page.sum_of_cells() == 4 * 2 * 25 * 8, "bytes of atomics")
    page.choose("kind", "all")
    check(page.choices("way") == ["all", "direct"], "ways")
    check(page.choices("by") == ["rank"], "groupings")
    page.point_at(".cell")
    check(page.tip() == "rank 0, peer rank 1: 25.2 kB, 50 operations", page.tip())
    page.press("heat-map", Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    check(page.tip() == "rank 2, peer rank 1: 25.2 kB, 50 operations", page.tip())
    page.press("heat-map", Keys.ARROW_RIGHT)
    check(page.tip() == "rank 2, peer rank 2: 0 B, 0 operations", page.tip())
    page.press("heat-map", Keys.ESCAPE)
    check(page.tip() is None, "the tip stays")
    page.point_at("#wait-bars .bar")
    check(page.tip().startswith("rank 0: ") and " in acp" in page.tip(), page.tip())
    page.press("slow-bars", Keys.ARROW_DOWN)
    check(" compute" in page.tip() or " wait" in page.tip(), page.tip())


def look_at_own_counts(page):
    """own 3 5: each of 2 ranks counts 4 x 5 x 3 bytes and once each of 70 names, of which 8 share one."""
    rows = page.rows_of("counts")
    check(len(rows) == 64, "the names")
    check(rows[0] == ["bytes", "120", "60", "0", "60", "0"], rows[0])
    check(rows[-1] == ["other counts", "16", "8", "0", "8", "0"], rows[-1])


def look_at_64(page):
    check(page.sum_of_cells() == 64 * 1000 * 3, "bytes of the ring")
    page.choose("unit", "operations")
    check(page.sum_of_cells() == 64 * 3, "operations of the ring")


def look_at_1024(page):
    """halo 1000 3 on 8 hosts: most traffic stays on a host."""
    check(page.choices("by") == ["host", "block"], "groupings")
    total = 1024 * 2 * 3 * 1008
    check(page.sum_of_cells() == total, "bytes by hosts")
    page.choose("way", "udp")
    check(page.sum_of_cells() == 8 * 2 * 3 * 1008, "bytes between hosts")
    page.choose("way", "all")
    page.choose("by", "block")
    check(page.sum_of_cells() == total, "bytes by blocks of ranks")
    page.point_at(".cell")
    check(page.tip().startswith("ranks 0-15, peer ranks 0-15: "), page.tip())
    page.choose("by", "host")


def visit(path, look):
    for dark in (False, True):
        driver = browser(dark)
        try:
            for width in (1280, 400):
                driver.set_window_size(width, 900)
                page = Page(driver, path)
                look(page)
                check(not page.is_wider_than_window(), f"wider than {width} pixels")
                problems = page.problems()
                check(not problems, problems)
                if pictures:
                    name = os.path.basename(path).replace(".html", f".{width}.{'dark' if dark else 'light'}.png")
                    height = driver.execute_script("return document.documentElement.scrollHeight")
                    driver.set_window_size(width, min(height + 150, 6000))
                    driver.save_screenshot(os.path.join(pictures, name))
        finally:
            driver.quit()


four = page_of_job(4, "halo", "1000", "25")
visit(four, look_at_four)
visit(page_of_job(2, "own", "3", "5"), look_at_own_counts)
visit(page_of_job(64, "ring", "1000", "3"), look_at_64)
visit(page_of_data(four), look_at_1024)
print("the pages show the known traffic")
