"""Rules into other rules that mean the same: unfold, cancel, fold, with negative counts allowed on the way.

A union of rules is a sum: what each rule gives is added, and a rule with a minus sign takes away. Two sums mean the
same, whatever the tables hold, exactly when they are the same sum after every view is replaced by its rules (Green and
Ives, 2012; Green, Ives and Tannen, 2011). That makes old contents of views usable for new ones.

>>> from whence.rewriting import equivalent, parsed
>>> equivalent("q(x) :- v(x). -q(x) :- s(x).", "q(x) :- r(x, y).", views="v(x) :- r(x, y). v(x) :- s(x).")
True
>>> for line in parsed("q(x) :- r(x, y), t(x).").lines("q"):
...     print(line)
q(x) :- r(x, _), t(x).
"""

from whence.rewriting.equivalence import equivalent, parsed

__all__ = ["equivalent", "parsed"]
