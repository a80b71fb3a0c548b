"""The long search: `python -m tests.lang.mutants.search 20000 7` judges 20,000 mutants of seed 7 and prints each fault.

Faults of one kind are printed once, with the number of the mutant; `... 1 7 4711` judges number 4711 alone.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter

from tests.lang.mutants.judge import FaultError, judge
from tests.lang.mutants.mutants import mutants
from tests.lang.mutants.texts import all_texts


def main(cases: int, seed: int, first: int = 0) -> int:
    made = mutants(seed)
    outcomes: Counter[str] = Counter()
    seen: set[str] = set()
    start = time.monotonic()
    for number in range(first, first + cases):
        mutant = made(number)
        try:
            outcomes[f"{mutant.language} {judge(mutant)}"] += 1
        except FaultError as fault:
            outcomes["faults"] += 1
            kind = re.sub(r"'[^']*'|\d+", "", str(fault).partition("\n")[0])
            if kind not in seen:
                seen.add(kind)
                sys.stdout.write(f"--- {number}: {fault}\n{mutant.tables}\n{mutant.text}\n\n")
                sys.stdout.flush()
    took = time.monotonic() - start
    texts = len(all_texts())
    sys.stdout.write(f"{cases} mutants of {texts} texts, seed {seed}, {took:.0f} seconds: {dict(outcomes)}\n")
    return 1 if seen else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
