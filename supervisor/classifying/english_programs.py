"""What programs, drivers and browsers write, in wordings that stand for one thing only.

These rules come first: a compiler's "expected", a driver's "no transaction is active" or a browser's
"fetch failed" hold words that mean something else in a sentence of a service.
"""

from .phrases import Rule, parse_rules

PROGRAMS: tuple[Rule, ...] = parse_rules(
    """
# compilers and interpreters of small languages: the text that was given is at fault
invalid_argument no :: error: & /(?:^|\\n)[^\\s:]{1,200}:\\d{1,7}:(?:\\d{1,5}:)? (?:fatal )?error: /
invalid_argument no :: .go:|.ts(|.tsx(|.js(|.cs(|.swift:|.kt: & /\\.\\w{1,5}(?::\\d{1,7}:\\d{1,5}: |\\(\\d{1,7},\\d{1,5}\\): error )/
invalid_argument no :: compilation terminated|compile error|unterminated|no rule to make target
    |invalid regular expression|unable to locate package|not a git repository
invalid_argument no :: in gzip format|in zip format|in the expected format & not in
# a working tree, a branch or a check is in the way
business_rejected no :: local changes|untracked working tree|uncommitted changes|unstaged changes
    & overwritten|commit your changes|stash them|cannot
business_rejected no :: required status check|required check|required review & expected|failing|failed|pending
    |not met|approving
business_rejected no :: business validation|business rule error|duplicate content|stale object|still in use
    |period lock date
business_rejected no :: robots.txt & not allowed|disallow|forbid
business_rejected no :: call|session|conference|job|stream|upload & not in-progress|not in progress
    |no longer in progress
# the machine has not got it
permission_denied no :: executable & doesn't exist|does not exist|not found
permission_denied no :: not accessible by & integration|access token|<app>
permission_denied no :: only accessible to|billed users|no active warehouse
permission_denied no :: organization|organisation|account & must be verified & !bank|customer|payee
permission_denied no :: <store|<shard|<volume|<database|<replica|<disk & read-only & due to|disk
permission_denied no :: externally-managed-environment|externally managed|not been booted with systemd
    |ensure crds are installed
permission_denied no :: <index|<indexes & requires an|requires a composite|needs an|needs a composite
    |missing & query
# a transaction or a connection in the wrong state is the program's fault
bug no :: within a transaction|no transaction is active|invalid transaction is rolled back
    |command out of sync|commands out of sync
# how a connection broke, where the word says no more than SSL, banner or fetch
transient no :: connection to & /connection to (?:the )?(?:[\\w ]{1,20} )?\\S{1,80}[.:]\\S{1,40} was refused/
transient no :: protocol banner
in_doubt_timeout maybe :: bad record mac|bad_record_mac|decryption failed or bad|record layer failure
    |ssl syscall error|application data after close
in_doubt_timeout maybe :: fetch failed|failed to fetch|networkerror when attempting
    & /(?:fetch failed|failed to fetch)\\.?(?:$|\\n| \\()|networkerror when/ & !econnrefused
    |connection refused|enotfound|eai_again|enetunreach|ehostunreach|certificate|connect timeout
    |connecttimeout
# a waiter gave up, or saw an end without a reason
in_doubt_timeout maybe :: waiter & max attempts
unknown maybe :: waiter & terminal failure
# selectors and edits that fit nothing, or too much
invalid_argument no :: rows returned & multiple|(or no)|no rows
invalid_argument no :: strict mode violation|element is not an|element is not a |exact match for
""",
    "English words",
)
