"""How many Soufflé programs of a folder whence runs as they are, and with Soufflé's answers.

    python -m scripts.souffle_folder ~/souffle/tests/evaluation ~/souffle/tests/example --show refused

A program is a folder NAME with NAME.dl, its input in `facts/` below it, and beside it a file RELATION.csv for each
relation that it writes. Nothing is fetched, and nothing is written.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import re
import resource
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import whence
import whence.database.connect
from whence.errors import InternalError
from whence.model.types import Record, Type, Value

# A program that counts to a number takes as many rounds.
ROUNDS = 10_000


# Programs whose answer is Soufflé's own: it depends on the order in which Soufflé evaluates, or on C++.
BY_NATURE = {
    "counter": "autoinc() counts in the order of evaluation",
    "magic_negignored": "autoinc() counts in the order of evaluation",
    "minimum_spanning_tree": "autoinc() counts in the order of evaluation",
    "sort": "autoinc() counts in the order of evaluation",
    "choice_highest_mark": "of several equal rows Soufflé chooses the one that it derives first",
    "choice_colourable": "a choice in a recursion is by the order of evaluation",
    "choice_total_order": "a choice in a recursion is by the order of evaluation",
    "issue2508": "it calls a function in C++",
    "catalan": "its numbers overflow, and go on from the other end",
}


def judge(folder: Path) -> tuple[str, str]:
    """What whence makes of the program, and why that is so."""
    program = folder / f"{folder.name}.dl"
    cases = [folder] if _expected(folder, folder.name) else [each for each in folder.iterdir() if each.is_dir()]
    cases = [each for each in cases if _expected(each, folder.name)]
    if not cases:
        return "without answers", "there is nothing to compare with"
    for case in sorted(cases):
        facts = case / "facts" if case == folder else case
        try:
            with whence.connect(max_rounds=ROUNDS) as database:
                database.rules(program.read_text(errors="replace"), name=str(program), directory=facts)
                why = _difference(database, case, folder.name)
        except InternalError as error:
            return "crashing", str(error)
        except whence.WhenceError as error:
            return "refused", str(error)
        except (RecursionError, AssertionError, LookupError, TypeError, ValueError, AttributeError) as error:
            return "crashing", f"{type(error).__name__}: {error}"
        if why:
            return "wrong", why
    return "right", ""


def _expected(folder: Path, name: str) -> bool:
    sizes = folder / f"{name}.out"
    return any(folder.glob("*.csv")) or (sizes.exists() and bool(sizes.read_text().strip()))


def _difference(database: whence.Database, folder: Path, name: str) -> str:
    """What differs first from the files that Soufflé writes, and from the sizes that it prints; else nothing."""
    known = {name.lower(): relation for name, relation in database.catalog().relations.items()}
    for path in sorted(folder.glob("*.csv")):
        relation = known.get(path.stem.lower())
        if relation is None:
            return f"there is no relation {path.stem}"
        kinds = [column.type for column in relation.columns]
        ours = sorted("\t".join(map(_shown, row, kinds)) for row in database.rows(relation.name))
        theirs = sorted(path.read_text(errors="replace").splitlines())
        if not _same(ours if kinds else ["()" for _ in ours], theirs):
            return f"{path.stem}: {_first_difference(ours, theirs)}"
    sizes = folder / f"{name}.out"
    for found in re.finditer(r"^(\w+)\t(\d+)$", sizes.read_text() if sizes.exists() else "", re.MULTILINE):
        relation = known.get(found[1].lower())
        if relation is not None and len(database.rows(relation.name)) != int(found[2]):
            return f"{found[1]} has {len(database.rows(relation.name))} rows, not {found[2]}"
    return ""


def judge_in_time(folder: Path, seconds: int) -> tuple[str, str]:
    """In a process of its own, which ends when it has used up so many seconds of a processor."""
    ours, theirs = multiprocessing.Pipe(duplex=False)

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        theirs.send(judge(folder))

    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    theirs.close()
    try:
        verdict: tuple[str, str] = ours.recv()
        return verdict
    except EOFError:
        process.join()
        if process.exitcode == -signal.SIGXCPU:
            return "too slow", f"it takes more than {seconds} seconds of a processor"
        return "crashing", f"the process ended ({process.exitcode})"
    finally:
        process.kill()
        process.join()


def _shown(value: Value, kind: Type) -> str:
    """A value as Soufflé writes it."""
    match value:
        case None:
            return "nil"
        case float():
            return f"{value:.6g}"
        case Record():
            return kind.to_text(value)
    return str(value)


def _same(ours: Sequence[str], theirs: Sequence[str]) -> bool:
    return len(ours) == len(theirs) and all(map(_same_line, ours, theirs))


def _same_line(ours: str, theirs: str) -> bool:
    pairs = list(zip(ours.split("\t"), theirs.split("\t"), strict=False))
    return ours.count("\t") == theirs.count("\t") and all(a == b or _close(a, b) for a, b in pairs)


def _close(ours: str, theirs: str) -> bool:
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=1e-5)
    except ValueError:
        return False


def _first_difference(ours: Sequence[str], theirs: Sequence[str]) -> str:
    only_ours = sorted(set(ours) - set(theirs))[:3]
    return f"{len(ours)} rows, not {len(theirs)}; ours {only_ours}, Soufflé's {sorted(set(theirs) - set(ours))[:3]}"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--show", action="append", default=[], help="a verdict whose reasons are printed whole")
    parser.add_argument("--seconds", type=int, default=30, help="how much time of a processor a program may take")
    parser.add_argument("--only", help="a pattern for names of programs")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for folder in sorted(path for each in options.folders for path in each.iterdir() if path.is_dir()):
        if not (folder / f"{folder.name}.dl").exists() or (options.only and not re.search(options.only, folder.name)):
            continue
        verdict, why = judge_in_time(folder, options.seconds)
        if verdict in ("refused", "wrong") and folder.name in BY_NATURE:
            verdict, why = "out by nature", f"{BY_NATURE[folder.name]} ({verdict})"
        counts[verdict] += 1
        if why:
            reasons[f"{verdict}: {re.sub(r'[0-9]+|“[^”]*”', '…', why.splitlines()[0])[:110]}"] += 1
        shown = f"\n{why}" if verdict in options.show else ""
        sys.stdout.write(f"{folder.parent.name}/{folder.name}: {verdict}{shown}\n")
        sys.stdout.flush()
    for reason, count in reasons.most_common(80):
        sys.stdout.write(f"{count:4} {reason}\n")
    judged = sum(counts.values()) - counts["without answers"]
    shares = [100 * counts["right"] / max(number, 1) for number in (judged, judged - counts["out by nature"])]
    sys.stdout.write(f"{dict(counts)}: {shares[0]:.1f} % right, {shares[1]:.1f} % but for those out by nature\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
