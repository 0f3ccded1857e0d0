"""What English words say, for errors without a code that decides; the first rule that holds wins.

The order carries meaning: a fault of a program shows through anything, doubt stands before plain
failures of connections, money and rights before rates, rates before rules of the business, and the
caller's arguments come last. Words like *retry*, *limit* or *token* prove nothing alone.
"""

from http import HTTPStatus

from .classify_phrases import Rule, parse_rules

ENGLISH: tuple[Rule, ...] = parse_rules(
    """
# access by protocol: a person has to act
permission_denied no :: protocol version|elicitation
# a fault in a program, the upstream's or ours
bug maybe :: nullpointerexception|null pointer|nil pointer|nullreferenceexception|classcastexception|outofboundsexception|stackoverflowerror|undefined is not|is not a function|cannot read propert|is not iterable|segmentation fault|unhandled exception|/ by zero|divide by zero|division by zero|integer divide|nosuchmethoderror|noclassdeffound|assertion failed|has no attribute|object reference not set|unboundlocalerror|goroutine 
bug maybe :: /\\b(?:typeerror|keyerror|indexerror|attributeerror|nameerror|referenceerror|zerodivisionerror|assertionerror|illegalstateexception|arithmeticexception|undefined index|undefined method|undefined variable)\\b/
bug maybe :: /^panic: |\\bpanic: runtime|index out of range \\[|runtime error: index|list index out of range/
bug no :: tool_use|tool_calls|tool_call_id|tool_result|tool call|function call|functioncall & must be followed|without|must be a response|corresponding|immediately after|not have response|did not have|unexpected|do not match|comes immediately
bug no :: roles must alternate|must alternate between|first message must|text content blocks must be non-empty|non-empty content|ensure that function call turn|last message must|expected last role|with role 'tool'|role 'tool'|invalid message order
bug no :: deserialize the json|no active connection
bug no :: schema & tool|function|input_schema|parameters & invalid|must|missing
bug no :: idempoten & different|mismatch|same|parameters|reused
bug no :: client has been closed|session is closed|event loop is closed|has already been closed|already closed & pool|connection|client|session|cursor & !by peer|remote|server
bug no :: method not allowed|http version not supported|unsupported media type|content-type|expected json & !timeout
# the service was shut down or switched off for good, or a person has to act
permission_denied no :: permanently shut down|has been shut down|been sunset|has been deprecated|no longer supported|no longer available|has been retired|been decommissioned|is deprecated|end of life|been discontinued|is retired
permission_denied no :: certificate & verif|expired|invalid|not trusted|unknown|mismatch|not valid|self-signed|self signed|signed by|authority|revoked
permission_denied no :: wrong_version_number|wrong version number|x509|unable to get local issuer|tlsv1 alert|sslv3 alert|unsupported protocol & ssl|tls
# locks and lost races: the server rolled back or never began
transient no :: degradeexception|circuitbreaker|circuit breaker|circuit open|circuit is open
transient no :: modified|changed|updated|version & latest version|concurrently|by another|in the meantime & !if-match|etag
transient no :: in_progress|in progress|is being|currently being|while a run|another operation|still processing|pending operation & state|already|wait|until|operation|update|cannot|can not|can't|active|another & !approval|payment|order|refund|review
transient no :: lock wait timeout|deadlock|could not serialize|serialization failure|database is locked|table is locked|lock contention|could not obtain lock|state lock|lock request time|lock timeout|statement timeout|write conflict|optimistic lock|failed to acquire lock|could not acquire lock|concurrent update|being updated by another|restart transaction|another process is|resource is locked by
# the outcome is open
in_doubt_timeout maybe :: outcome|result|state|status|whether & unknown|unclear|uncertain|undetermined|not be confirmed|unconfirmed|unable to determine|could not determine|cannot determine & !exit status|statuscode
in_doubt_timeout maybe :: may have been|may or may not|might have been|could have been|may already have|may still|before retrying|before you retry|check whether|check the status|not known if|not known whether
in_doubt_timeout maybe :: due to time limit|killed & time limit|timeout|timed out
# nothing was sent
transient no :: not read from or written to|waiting for the client|waiting for client|client did not send|client took too long|request body timeout
transient no :: connect timed out|connecttimeout|connect timeout|connect etimedout|connection attempt timed out|dial tcp|tls handshake timeout|handshake operation timed out|connection refused|econnrefused|no route to host|network is unreachable|enetunreach|ehostunreach|temporary failure in name resolution|eai_again|failed to establish a new connection|connection could not be established|could not establish connection|delayed connect error|no healthy upstream|no live upstreams|host is down|could not connect to server|couldn't connect to server|failed to connect|unable to connect|cannot connect to|connection failure|can't connect|could not connect|error connecting to & !permission denied|access denied|authentication|credential|certificate|no such host|not known|password
transient no :: connection pool|queuepool|<pool>|waiting for a connection|acquire|acquiring & timeout|timed out|exhausted|full|limit|no available
transient no :: too many connections|too many clients|max number of clients|remaining connection slots|maxconnections|connection limit exceeded
permission_denied no :: name or service not known|nodename nor servname|enotfound|could not resolve|no such host|name resolution|nxdomain|unknown host|getaddrinfo failed
# the model's own limits
context_overflow no :: context length|context window|context size|context_length|prompt is too long|prompt too long|prompt too large|max_seq_len|maximum prompt length|max_model_len|maximum input length|input is too long|input too long|input length and|range of input length|input token count|too many input tokens|maximum number of tokens|reduce the length of the|exceeds the model|maximum sequence length|max sequence length|model's maximum|exceeds the maximum number of tokens|context limit|n_ctx|exceeds the available context|max input characters|maximum input characters|max input length
context_overflow no :: tokens|token & exceed|too large|too long|larger than|maximum|must be less|must have less|greater than & input|prompt|request|message|context|conversation & !per minute|per day|rate limit|expired|per second|max_tokens must|auth|login|daily|access token|quota|month|/\\bt?pm\\b/
context_overflow no :: length limit was reached|length limit reached|finish_reason=length
context_overflow no :: request too large & token|tpm|per min
context_overflow no :: max_tokens|max_new_tokens|max_completion_tokens & /got -\\d|at least 1, got 0|-\\d+ is less/
# the content itself
content_refused no :: exists risk|content policy|content filter|content_filter|content management policy|safety system|safety setting|safety filter|blocked for safety|blocked by safety|due to safety|flagged|moderation|nsfw|responsible ai|inappropriate|prohibited content|usage polic|acceptable use|usage guideline|harmful|violates our|violate our|content restriction|sensitive content|offensive|unsafe content|blocked by content|guardrail|sexual|copyrighted & !spam|no image
content_refused no :: /\\b(?:i can(?:'|\u2019)?t|i cannot|i(?:'|\u2019)m unable to|i am unable to|i won(?:'|\u2019)t|i(?:'|\u2019)m not able to|i(?:'|\u2019)m sorry, but i|sorry, i can(?:'|\u2019)t) (?:can't |cannot |can\u2019t )?(?:help|assist|share|provide|comply|generate|create|write|answer|do that|discuss|engage|fulfill|continue|produce|disclose|reveal|support|process|with)/
# stopped on purpose: our run, not the customer's order
business_rejected no :: order|payment|policy|booking|subscription|contract|invoice|appointment|reservation|shipment|flight|purchase|transaction|ticket|trip|event|meeting|plan|membership|customer|payer & cancelled|canceled & !by user request|task|job|context canceled|worker|shutting down|cancelled by operator|operation was|timeout|timed out
cancelled maybe :: aborterror|operation was aborted|request was aborted|task cancelled|task canceled|task was cancelled|cancelled by|canceled by|context canceled|context cancelled|operation cancelled|operation canceled|operation was cancelled|operation was canceled|job cancelled|job canceled|run cancelled|request cancelled|request canceled|request was cancelled|build cancelled|query cancelled|due to user request|by user request|keyboardinterrupt|interrupted by user|aborted by user|user aborted|user cancelled|user canceled|stopped by user|stopped by operator|terminated by operator|pipeline was canceled|execution cancelled|execution was cancelled|execution aborted|was interrupted|interrupted system call|sigterm|sigint|received termination|cancellation
cancelled maybe :: shutting down|shutdown in progress|server is shutting & task|worker|job|cancel|run
# our machine
resource_exhausted maybe :: no space left|disk quota exceeded|enospc|out of memory|outofmemory|cannot allocate memory|enomem|too many open files|emfile|oom-kill|oomkilled|oom killed|can't start new thread|unable to create new native thread|requires more system memory|unable to allocate|std::bad_alloc|memoryerror|cannot fork|fork: retry|not enough space|disk full|disk is full|file system full|insufficient memory|memory limit exceeded|gc overhead|heap space|no more processes|resource limits exceeded|thread limit|exceeded memory|inode
# the request had gone out
invalid_argument no :: syntax error & !upstream
in_doubt_timeout maybe :: read timed out|readtimeout|read timeout|deadline exceeded|deadlineexceeded|i/o timeout|connection reset|econnreset|reset by peer|broken pipe|epipe|socket hang up|connection aborted|remote end closed|closed without|server disconnected|connection closed|closed connection|connection was closed|connection lost|lost connection|premature|unexpected eof|unexpected end of stream|before headers|response ended|incompleteread|incomplete read|gateway timeout|gateway time-out|upstream request timeout|server closed the|went away|has gone away|connection termination|stream closed|goaway|socket closed|connection interrupted|peer closed|transport closed|unexpectedly closed|closed unexpectedly|terminated unexpectedly
permission_denied no :: session|login|token|credential|sign-in & timed out|timeout|time out & !session creation
invalid_argument no :: timeout & must be|invalid|parameter|argument|value|out of range
invalid_argument no :: waiting for locator|waiting for selector|waiting for element|element not found|no such element
in_doubt_timeout maybe :: timed out|timeout|time-out|etimedout|took too long|taking too long|timeouterror & !out of time
# rights, keys, the set-up
permission_denied no :: permission denied|access denied|access is denied|permission_denied|access_denied
permission_denied no :: has no access|have no access|no access to|not have access|no rights|insufficient privilege|insufficient scope|insufficient permission|lacks permission|privilege|missing scope|required scope|saml|two-factor|forbidden|2fa
permission_denied no :: invalid signature|signature mismatch|signature does not match|signature verification|signature expired|api key|api-key|apikey|access key|invalid credential|invalid token|token is invalid|token has expired|token expired|token has been revoked|expired token|access token|login token|invalid username|bad credentials|incorrect password|wrong password|invalid password|password is required|authentication failed|authentication required|authentication failure|not authenticated|unauthenticated|unauthorized|not authorized|unauthorised|unauthenticat|not logged in|must be logged in|login required|login failed|please authenticate|could not authenticate|invalid login|log in|sign in|permission to|permissions|no permission
permission_denied no :: not permitted & !state|status|while|after|once|during
permission_denied no :: whitelist|allowlist|block list|blocklist & ip|not|address
permission_denied no :: ip address|your ip|ip not|client ip & not allowed|block|denied|not permitted|banned
permission_denied no :: usage limit|usage cap|extra usage|regain access|usage tier
permission_denied no :: <not verified|unverified & email|identit|domain|sender|account
permission_denied no :: billing|unpaid|past due|overdue & account|invoice|payment|subscription|service & !customer|order
permission_denied no :: spending limit|spend limit|spending cap|budget has been exceeded|monthly limit|monthly quota|monthly usage|credit balance|out of credits|no credits|more credits|insufficient credit|insufficient balance|exceeded your current quota|free tier|free trial|trial expired|trial has expired|trial period|upgrade your plan|upgrade your account|upgrade to|your plan|current plan|contact sales|payment required|top up|recharge|add credits|purchase more|prepaid & !per minute|slow down|customer|payer|buyer|wallet
permission_denied no :: credits|credit & plan|used up|exhausted|depleted|ran out|run out & !customer|order
permission_denied no :: /\\b(?:accounts?|users?|organi[sz]ation|tenant|workspace|project|app|application|key|merchant)\\b/ & /\\b(?:suspended|disabled|deactivated|locked|not active|inactive|not activated|banned|frozen|restricted|terminated|blocked)\\b/ & !order|customer|user is blocked by
rate_limited no :: daily|per day|24 hours|monthly|per month|this month & quota|limit|cap|allowance & exceed|reach|used|exhaust|max|hit & !/at most \\d+ times/ & !customer|same document
permission_denied no :: model|deployment|endpoint|bucket|queue|topic|database|index|schema|engine|index|channel|webhook|region|cluster|namespace|collection|project|workspace|provider|function|repository|registry|keyspace|table & not found|does not exist|doesn't exist|not exist|no such|not deployed|not available|unknown model|not supported|not configured|not provisioned|could not be found|unknown database|is not loaded & !row|record|order|column|parameter|argument|message|field|temporarily|currently unavailable
permission_denied no :: does not support|not enabled|not been enabled|has not been used|is disabled|feature is not|not available in your|not supported in your|not available for your|unsupported country|not available in|location is not supported|not activated|not configured|is not set|environment variable|missing configuration|not subscribed|no subscription|not installed|command not found|executable file not found|license|no module named|try pulling it & !order|customer
permission_denied no :: bandwidth|storage|disk|space & quota|limit exceeded|exceeded & !per request|file too|body
rate_limited no :: exceeded quota|quota exceeded|quota has been|over quota|out of quota
# rates
rate_limited no :: /\\bquotas?\\b/ & !been modified
rate_limited no :: flowexception|rate limit|rate-limit|ratelimit|rate_limit|throttl|too many requests|too many calls|too many attempts|request limit|requests per|calls per|per minute|per second|per hour|qps|rpm|tpm|frequency limit|frequency limited|frequently|too fast|slow down|request rate|quota will be replenished|call volume|call limited|concurrency limit|concurrent requests|too many concurrent|concurrent limit|flow control|requests exceeded|hourly limit|minute limit|limit reached|limit has been reached|limit exceeded, try|burst|ban will last|too quickly|retry shortly
# rules and states of the business
business_rejected no :: doesn't want to proceed|does not want to|was rejected by|user declined|declined by|user rejected|use was rejected
business_rejected no :: blocked by the user|blocked by user|blocked the bot|user has blocked|opted out|unsubscribed|<no updates|nothing to update|no changes|nothing to commit
permission_denied no :: only one & instance|session|client|process & running|another|other
business_rejected no :: insufficient|not enough|exceeds available|out of|no more|sold out|unavailable & stock|inventory|seats|rooms|units|quantity|items|balance|funds|availability|points|capacity for|tickets|slots
business_rejected no :: sold out|out of stock|in stock|on backorder|fully booked|no longer for sale|no longer valid|declined|credit limit|spending rule|limit per customer|per customer|per household|per order|per person|per account & !api
business_rejected no :: /\\balready (?:been )?(?:shipped|cancell?ed|closed|paid|processed|exists?|refunded|settled|approved|rejected|completed|submitted|registered|used|taken|in use|booked|redeemed|merged|archived|deleted|captured|confirmed|assigned|sent|delivered|signed|expired|started|finished|reserved|published|released|reported|done|active|enrolled|invited|member|a member|subscribed|posted|voided|filled|executed|issued|locked|matched|pending|open|running|reversed|claimed|invoiced|resolved|terminated|accepted|activated|transferred|scheduled)/
business_rejected no :: /\\b(?:state|status)\\b/ & current|wrong|invalid|in its|not in|cannot be|must be in|while & !http status|status code|status of the request
business_rejected no :: already exist|duplicate|has been closed|is closed|are closed|was closed|is archived|is frozen|is locked|been locked|been settled|been shipped|been cancelled|been archived|been refunded|been finali|is finali|read-only state|not mergeable|no commits between|is not in a state|not in a valid
business_rejected no :: approval|approve|approver|sign-off|four-eyes|dual control|second signature|requires review|admission webhook|change freeze|freeze window|blackout|policy|compliance|regulation|embargo|sanction|kyc|risk control|risk check|credit check|fraud|blacklist|not eligible|ineligible|eligib|does not meet|not meet|underage|<age limit|<minimum age|cooling-off|violates & !password policy|iam|role|cors|prohibited content
business_rejected no :: deadline|cut-off|cutoff|window|period|season|office hours|business hours|opening hours|too late|term & passed|closed|expired|over|ended|after|outside|not open|elapsed|has passed
business_rejected no :: coupon|voucher|offer|quote|promotion|discount|promo|contract|card|passport|warranty|membership & expired|not applicable|not valid|cannot be combined|used|invalid for|limit
business_rejected no :: cannot|can not|can't|could not|may not|must not|not allowed|not be|unable to|not possible|is not & cancel|refund|return|modif|delete|change|edit|ship|merge|void|reopen|withdraw|transfer|booked|closed|evict|reverse|post to|remove|combined|exchanged|upgraded|renewed|submit & !parse|decode|read|connect|null|undefined|property
business_rejected no :: maximum number|max number|limit of|limit reached|exceeds the limit|exceeds limit|exceeded the limit|exceeds your limit|over the limit|over limit|at most|no more than & customer|order|day|user|account|collaborator|member|transaction|pinned|total number|employee|person|trip|claim & !characters|per request|page size|page_size|batch|rows|records|length
business_rejected no :: needs|requires|require & ticket|confirmation|consent|signature|deposit|prepayment
business_rejected no :: not allowed & state|status|order|this user|customer|weekend|holiday|country|region
# it is busy
transient no :: maintenance|restarting|starting up|warming up|being loaded|is loading|is starting|not accepting|at capacity|over capacity|overloaded|overload & !permanently
transient maybe :: please try again|try again later|try later|retry later|retry your request|temporarily|temporary|currently unavailable|service unavailable|is busy|server busy|too busy|overload|over capacity|at capacity|no capacity|maintenance|restarting|starting up|warming up|is loading|being loaded|not ready|unavailable & !invalid|must|check your|incorrect|wrong|after fix|correct the|permanently
transient maybe :: upstream error|bad gateway|internal server error from upstream|encountered an issue|leader|election|failover|not primary|no instances available|no provider|can retry|please retry & !invalid|must
# it failed, and no more
unknown maybe :: unknown error|unexpected error|internal error|an error occurred|error occurred|something went wrong|unknown exception|unknown failure|operation failed|request failed|please contact & !unknown error code|invalid|parameter|argument
# the arguments
invalid_argument no :: please specify|did you mean|not found|no such|does not exist|doesn't exist|not exist|unknown|unrecognized|unrecognised|not recognized|could not find|cannot find|can't find|no match|matches multiple|ambiguous|not a valid|is not valid|invalid|malformed|could not parse|cannot parse|can't parse|failed to parse|unable to parse|parse error|syntax error|not a number|wrong format|bad format|format|expected|out of range|out of bounds|must be|must not|must match|must contain|must have|must start|should be|has to be|too long|too short|too large|too small|too many|at least|at most|greater than|less than|exceeds the maximum|exceeds maximum|maximum length|required|missing|cannot be empty|can't be empty|may not be empty|cannot be null|can't be blank|is empty|not supported|unsupported|illegal|incorrect|mandatory|not a directory|is a directory|cannot access|allowed values|one of|bad request|not allowed here|in the past|in the future|before start|violates not-null|has unknown
""",
    "words",
)

# Sentences that say no more than "it failed"; with them a 500 stays unknown.
EMPTY_PHRASES = frozenset(
    (
        *(status.phrase.lower() for status in HTTPStatus),
        *("unprocessable content", "gateway time-out", "request time-out", "request failed"),
        *("service temporarily unavailable", "an internal server error occurred", "server error"),
        *("internalservererror", "500 internal server error", "custom", "validation failed"),
        *("request entity too large", "content too large", "loop detected", "failure"),
    )
)
