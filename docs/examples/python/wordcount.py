"""Counts the words of a text, by a map that all ranks count in.

    acprun -np 4 python3 wordcount.py [FILE]

Each rank counts the lines of its own part. `counts.add(word)` inserts the word, or adds to its
number, in one undivided step. The hash of a word chooses the rank that has it. In the end each
rank walks the words that it has itself, and rank 0 compares with a count of its own.
"""

import re
import sys
from collections import Counter

import acp

TEXT = "/usr/share/common-licenses/GPL-3"


def words_of(lines):
    return re.findall(r"[a-z]+", " ".join(lines).lower())


def main():
    with acp.job() as me:
        with open(sys.argv[1] if len(sys.argv) > 1 else TEXT, encoding="utf-8") as file:
            lines = file.readlines()
        with acp.share(acp.Map, keys=str, values=int, slots=10_000) as counts:
            for word in words_of(lines[me.rank::me.procs]):
                counts.add(word)
            acp.sync()
            # The words of all ranks together are all words, each once.
            parts = acp.all_gather(list(counts.local_items()))
            if me.rank == 0:
                found = Counter(dict(pair for part in parts for pair in part))
                print(f"{found.total()} words, {len(found)} different")
                for word, count in sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:5]:
                    print(f"{count:6} {word}")
                assert found == Counter(words_of(lines)), "DIFFERS from a sequential count"
                print("equal to a sequential count")


if __name__ == "__main__":
    main()
