"""What English words say of the arguments, when nothing else was said: the last of the rules.

Words like *missing*, *wrong* and *exceeds* are in everything. What they are said of decides: a plan
that is missing is the set-up, a version that does not match is a state that was stated, a lock
table that is exceeded is the machine. Only then are they about an argument.
"""

from .phrases import Rule, parse_rules

# What is quoted, has a name of code, a sign or the word for a part of a request.
_LIKE_AN_ARGUMENT = r""""|'|`|: ?\w|\bsql\b|\bvariables\b|\b[a-z]+_[a-z_]+\b|\b[a-z]+(?:\.[a-z]+)+\b|\w\[|[<>=]|\b(?:parameters?|arguments?|fields?|values?|formats?|requests?|inputs?|body|quer(?:y|ies)|propert(?:y|ies)|attributes?|names?|ids?|numbers?|dates?|times?|emails?|urls?|uris?|address(?:es)?|strings?|integers?|lengths?|characters?|chars|bytes|json|xml|syntax|columns?|types?|keys?|paths?|files?|codes?|options?|flags?|tables?|rows?|records?|items?|elements?|units?|digits|letters|text|message|title|currency|amount|quantity|price|size|range|postcode|zip|phone|locale|time ?zone|language|enum|method|header|selector|index|count|limit|offset|pages?|total|sum|iban|bic|qty|bids?|isbn|vat|sku)\b"""

ARGUMENTS: tuple[Rule, ...] = parse_rules(
    """
# of what something is said, within a few words
permission_denied no :: <acl|licen|<plan|subscription|credential|privilege|entitlement|<add-on|service account
    & /\\b(?:acls?|licen[cs]es?|plan|subscription|credentials?|privileges?|entitlements?|add-on|service account)\\b(?:\\W+\\w+){0,3}?\\W+(?:missing|not found|invalid|wrong|unknown|required|expired|exceeded|does not|do not)\\b/
    & !<field|parameter|argument|column|property
permission_denied no :: <missing|<invalid|<wrong|<unknown|<required & /\\b(?:missing|invalid|wrong|unknown|required) (?:\\w+ ){0,2}(?:acl|licen[cs]e|subscription|credentials?|privileges?|entitlement|service account)\\b/
    & !<field|parameter|argument|column|property
permission_denied no :: <cluster|<account|workspace|organi & maximum|<limit> & would add|would exceed|currently has
permission_denied no :: <must & /\\bmust (?:have|hold|be) (?:\\w+ ){0,4}(?:role|rank|tier|membership|subscription|plan|licen[cs]e|affiliate|partner)\\b/
    & !<field|parameter|argument|column|property
resource_exhausted maybe :: <memory|<heap|<disk|tablespace|lock table|paging file|page file|swap file|<vram|<inode|file handle
    |file descriptor|<semaphore & exceed|too small|too many|not enough|insufficient|unable to extend|cannot extend|<full
    & !limit of|<file too|body|upload|request|parameter|argument
business_rejected no :: <version|revision|sequence|<etag|generation|<epoch|<index & stale|mismatch|<wrong last|wrong expected
    |not match the current|not match the expected|not match the latest|outdated|out of date & !protocol|python|client version
    |parameter|schema version
permission_denied no :: <invalid|<unknown|<unrecognized|<bad> & /\\b(?:invalid|unknown|unrecognized|bad) (?:request |source |client |billing |service )?(?:ip|accounts?|clients?|tenant|caller|origin|referer|host key)\\b(?!['\"]? ?(?:name|id|number|type|format|code|value|:))/
    & !<field|parameter|argument|iban|column|account number|format
permission_denied no :: contact|<ask|must be accepted & /\\b(?:contact|ask|by) (?:an?|your|the|its) (?:\\w+ ){0,2}(?:administrators?|admins?|owner|sales)\\b/
permission_denied no :: <ip> & /\\b(?:invalid|unknown|wrong) (?:request |source |client |server )ip\\b/
# it failed, and no more
unknown maybe :: unknown & /^(?:error: )?unknown(?: error| exception)?\\.?$/
unknown maybe :: unknown error|unexpected error|internal error|an error occurred|error occurred
    |something went wrong|unknown exception|unknown failure|operation failed|request failed
    |processing failed|please contact|contact support|contact administrator & !unknown error code
    |<invalid|parameter|argument
# the arguments
invalid_argument no :: must specify|must provide|must supply|must include|need to specify|failed validation|validation error|contain a valid|valid address
invalid_argument no :: found|called|named|matched|matches|with & /\\bno [\\w ]{1,30} (?:found|called|named|matched|matches|with (?:id|number|name|code))\\b/
invalid_argument no :: error in & query|expression|syntax|statement|template|formula
invalid_argument no :: nothing found|nothing matched|no hits
invalid_argument no :: could not be located|cannot be located|cannot interpret|could not interpret|checksum|check digit
    |only digits|only letters|longer than|shorter than|not a property|not an attribute|please give|please pass|pass either
    |share that name|same name|give either
    & !checksum mismatch|corrupt|running|took
invalid_argument no :: please specify|please provide|please enter|did you mean|not found|no such|does not exist
    |doesn't exist|not exist|unrecognized|unrecognised|not recognized|could not find|unable to find
    |cannot find|can't find|cannot be found|no match|no results for|matches multiple|ambiguous|more than one
    |not a valid|is not valid|<invalid|malformed|could not parse|cannot parse|can't parse
    |failed to parse|unable to parse|could not convert|unable to access|parse error|syntax error|not a number|not numeric
    |must be numeric|null value|wrong format|bad format|<format>|<formats>|<formatted>|not conform|not within
    |<expected|out of range|out of bound|unknown|<required|incorrect|too long|too short|must match|must contain|must start|should be|should not
    |maximum length|cannot be empty|can't be empty|may not be empty|not be empty
    |cannot be null|can't be blank|is empty|mandatory|not a directory|is a directory|allowed values
    |before start|must lie|lie between|violates not-null|has unknown|bad json|bad value|bad input|bad date|bad argument|bad parameter
    |well formed|well-formed|<empty|<no product|<no customer
    |<no order|<no user|<no record|<no item|unparseable|cannot be parsed|bad value
    |wrong type|not a date|unexpected property|unexpected field|unexpected key|unexpected argument
    |unexpected parameter|unexpected value|unexpected type|unexpected character
invalid_argument no :: must be|must not be & /\\bmust (?:not )?be (?:an? |one of|between|before|after|positive|negative|greater|less|at least|at most|in |equal|unique|numeric|valid|set|specified|provided|supplied|non-|\\d|string|integer|true|false|empty|null|blank|longer|shorter|higher|lower|larger|smaller)/
# words that are said of a rule, a right or a machine as well: something must show that it is an argument
invalid_argument no :: must be|must not|must have|has to be|too large|too small|too many
    |too big|at least|at most|greater than|less than|exceed|missing|not supported|unsupported|illegal
    |cannot access|be one of|one of:|one of [|one of the following|one of '|one of \"|bad request|not allowed here|in the past|in the future|<wrong|incomplete
    |is after|is before|negative|does not match|do not match|doesn't match
    & /"""
    + _LIKE_AN_ARGUMENT
    + """/
""",
    "English words",
)
