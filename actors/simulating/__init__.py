"""Other policies, played on what a store has recorded: a model of each upstream and tool is learned
from it, and the sessions go through that again, in virtual time.

Decides nothing itself: directives, waits, breakers and budgets of repeats are those of the runtime.

Files, each using only those before it: asked, chance, seen, times, waiting · entries, traces · spells, survival · learning · onward, worlds ·
courses, playing · measures · summary.
"""
