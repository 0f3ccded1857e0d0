"""What English words say, for errors without a code that decides; the first rule that holds wins.

The order carries meaning: a fault of a program shows through anything, doubt stands before plain
failures of connections, money and rights before rates, rates before rules of the business, and the
caller's arguments come last. Words like *retry*, *limit* or *token* prove nothing alone. From the rates
on, the rules stand in `classify_english_refusals`.
"""

from .english_refusals import REFUSALS
from .phrases import Rule, parse_rules

ENGLISH: tuple[Rule, ...] = (
    parse_rules(
        """
# a person has to act before the protocol goes on
permission_denied no :: protocol version|elicitation
# a fault in a program, the upstream's or ours
bug maybe :: nullpointerexception|null pointer|nil pointer|nullreferenceexception
    |classcastexception|cannot be cast to|outofboundsexception|out of bounds for length
    |stackoverflowerror|stack overflow|undefined is not|is not a function|cannot read propert
    |cannot set propert|is not iterable|segmentation fault|core dumped|unhandled exception
    |uncaught exception
    |/ by zero|divide by zero|division by zero|integer divide|nosuchmethoderror|noclassdeffound|classnotfoundexception|assertion failed|has no attribute|object reference not set|unboundlocalerror|goroutine |object is not subscriptable|object is not callable|positional argument|unexpected keyword argument|numberformatexception|concurrentmodificationexception|beancreationexception|unsupportedoperationexception|unrecognized selector|php fatal error|uncaught error|on a null|call to undefined|undefined offset|undefined array key|undefined variable|undefined local variable|undefined method|nomethoderror|unexpected nil|unexpected token|call to a member function|unable to cast object|unwrap()|not implemented yet|todo:
bug maybe :: error|exception|undefined index & /\\b(?:typeerror|keyerror|indexerror|attributeerror|nameerror|referenceerror|zerodivisionerror|assertionerror|illegalstateexception|arithmeticexception|illegalargumentexception|invalidcastexception|indexoutofrangeexception|argumentnullexception|undefined index)\\b/
bug maybe :: panic|index out of range|runtime error & /^panic: |\\bpanic: runtime|\\bpanicked at|index out of range \\[|runtime error: |list index out of range|string index out of range/
bug maybe :: unreachable code|should never happen|should not happen|cannot happen|invariant violat
    |impossible state & !sla
bug no :: tool_use|tool_calls|tool_call_id|tool_result|tool call|function call|functioncall
    |tool messages|tool message & must be followed|without|must be a response|corresponding
    |immediately after|not have response|did not have|unexpected|do not match|comes immediately
    |preceding|no matching|not found in
bug no :: roles must alternate|must alternate between|first message must
    |text content blocks must be non-empty|non-empty content|all messages must have
    |ensure that function call turn|last message must|expected last role|with role 'tool'
    |role 'tool'|invalid message order|thinking blocks|thought_signature|reasoning_content
    |signature in thinking
bug no :: deserialize the json|failed to deserialize|no active connection|could not be serialized
    |not json serializable|is not serializable|json parse error
bug no :: schema & tool|function|input_schema|parameters & invalid|must|missing
bug no :: idempoten & different|mismatch|same|parameters|reused
bug no :: client has been closed|session is closed|event loop is closed|has already been closed
    |already closed|is already closed & pool|connection|client|session|cursor|loop|file & !by peer
    |remote|server
bug maybe :: <browser|<page|<context|<target|<tab> & has been closed|was closed|<crashed|is detached
bug no :: method not allowed|http version not supported|unsupported media type
    |unsupported content type|content-type|content type & !timeout|image|file|upload
# switched off for good, or a person has to act
permission_denied no :: permanently shut down|has been shut down|been sunset|has been deprecated
    |been deprecated|no longer supported|no longer available|no longer offered|has been retired
    |been decommissioned|is deprecated|end of life|end-of-life|been discontinued|is retired
    |been removed from & !product|item|sku|seat|ticket|room|slot|article|offer|fare|table|listing|price
permission_denied no :: certificate & verif|expired|invalid|not trusted|untrusted|unknown|mismatch
    |not valid|self-signed|self signed|signed by|authority|revoked|does not match|required
permission_denied no :: wrong_version_number|wrong version number|x509|unable to get local issuer
    |tlsv1 alert|sslv3 alert|tls: handshake failure|ssl handshake|pkix path
    |unable to find valid certification
permission_denied no :: unsupported protocol & ssl|tls
# locks and lost races: the server rolled back or never began
transient no :: degradeexception|circuitbreaker|circuit breaker|circuit open|circuit is open
transient no :: modified|changed|updated|version & latest version|concurrently|by another
    |in the meantime|since it was read & !if-match|etag
transient no :: in_progress|in progress|is being|currently being|while a run|another operation
    |still processing|pending operation & state|already|wait|until|operation|update|cannot|can not
    |can't|active|another|provision|creat|delet & !approval|payment|order|refund|review|audit
    |stocktak|inventory count
transient no :: <restart|<rollout|<failover|<upgrade|<migration|<reboot|<rebuild|<reindex & in progress
    |ongoing|under way|underway
transient no :: being rebuilt|is rebuilding|being reindexed|is reindexing|<draining|concurrent transaction
    |concurrently modified|replica lag|replication lag|is lagging
transient no :: connection & /\\b(?:obtain|acquire|get|borrow|check ?out) (?:a |an )?(?:\\w+ ){0,2}connection\\b/ & could not
    |cannot|unable|failed|within
transient no :: lock & /\\b(?:acquire|obtain|get|take) (?:a |an |the )?(?:\\w+ )?lock\\b/ & could not|cannot|failed
    |unable|timed out|timeout
transient no :: lock wait timeout|deadlock|could not serialize|serialization failure
    |database is locked|table is locked|database table is locked|lock contention
    |could not obtain lock|state lock|lock request time|lock timeout|statement timeout
    |write conflict|optimistic lock|failed to acquire lock|could not acquire lock
    |unable to acquire lock|lock is held|lock held by|concurrent update|concurrent modification
    |being updated by another|restart transaction|retry transaction|another process is
    |resource is locked by|index.lock|could not get lock
# the outcome is open
in_doubt_timeout maybe :: outcome|result|<state|status|whether & <unknown|not known|unclear
    |uncertain|undetermined|indeterminate|not be confirmed|unconfirmed|unable to determine
    |could not determine|cannot determine|could not be determined & !exit status|statuscode
    |unknown status code
in_doubt_timeout maybe :: may have been|may or may not|might have been|might or might not
    |could have been|may already have|may still|may have succeeded|may have gone through
    |may have completed|before retrying|before you retry|before resubmitting|check whether
    |check the status|not known if|not known whether|unsure whether|no confirmation
    |without confirmation|no acknowledg|did not acknowledge|not acknowledged|do not resubmit
    |do not retry|not resend|do not repeat|not submit again & !permission|rate limit|too many|slow down
    |throttl
in_doubt_timeout maybe :: response|reply|answer & could not be parsed|not be decoded|cannot be parsed
    |failed to parse|failed to decode|could not parse|could not decode|unexpected end|truncated
    |incomplete|cut off & !content filter|length limit|refus
permission_denied no :: err_name_not_resolved|err_cert_|err_ssl_|err_tls_cert|err_proxy_auth
transient no :: err_connection_refused|err_address_unreachable|err_internet_disconnected
    |err_connection_timed_out|err_network_changed|err_proxy_connection_failed
in_doubt_timeout maybe :: err_connection_reset|err_connection_closed|err_empty_response|err_timed_out
    |err_connection_aborted|err_incomplete_chunked
in_doubt_timeout maybe :: disconnected before|no answer within|no reply within|no response within|hung up|never arrived|never came|gave up waiting|lost contact|reset the connection
    |ended before|stream was cut|before the final|execution limit|outcome open|outcome is open
in_doubt_timeout maybe :: did not confirm|response was lost|reply was lost|answer was lost|was forwarded
    |after the request was|after sending & !rejected|refused|denied
in_doubt_timeout maybe :: result|outcome & is pending|still pending|not available yet|not known yet
in_doubt_timeout maybe :: acknowledg|receipt|confirmation & outstanding|not come|not arrived|not received
in_doubt_timeout maybe :: due to time limit|time limit exceeded|exceeded time limit
    |exceeded the time limit|killed after|execution time limit
in_doubt_timeout maybe :: killed|terminated & time limit|timeout|timed out
# nothing was sent
transient no :: not read from or written to|waiting for the client|waiting for client
    |client did not send|client took too long|request body timeout
transient no :: connect timed out|connecttimeout|connect timeout|connect etimedout
    |connection attempt timed out|timed out connecting|timed out while connecting
    |timeout connecting|dial tcp|tls handshake timeout|handshake operation timed out
    |connection refused|econnrefused|actively refused|no route to host|network is unreachable
    |enetunreach|ehostunreach|temporary failure in name resolution|eai_again
    |failed to establish a new connection|connection could not be established
    |could not establish connection|unable to establish connection|delayed connect error
    |no healthy upstream|no live upstreams|no servers available|host is down
    |could not connect to server|couldn't connect to server|failed to connect|unable to connect
    |cannot connect to|connection failure|can't connect|could not connect|error connecting to
    |connect failed|no available server|not enough replicas|no available brokers
    |no brokers available & !permission denied|access denied|authentication|credential|certificate
    |no such host|not known|password|not resolve|reading
transient no :: upstream connect error & !before headers|disconnect
transient no :: connection pool|queuepool|<pool>|waiting for a connection|acquire|acquiring
    |get connection|obtain connection & timeout|timed out|exhausted|full|limit|no available|empty
transient no :: too many connections|too many clients|max number of clients
    |remaining connection slots|maxconnections|connection limit exceeded|queue is full|queue full
    |backlog full|thread pool is full|rejected from java.util.concurrent|rejectedexecution
    |pending requests exceeded
transient no :: name resolution|dns|resolve & temporar|for now|try again
permission_denied no :: name or service not known|nodename nor servname|enotfound
    |could not resolve|cannot resolve|unable to resolve host|no such host|name resolution|nxdomain
    |unknown host|unknownhost|getaddrinfo failed|host not found
# the model's own limits
invalid_argument no :: unsupportedparams|does not support parameter|unsupported parameter
    |unknown parameter|unrecognized request argument
invalid_argument no :: maximum tokens you requested|max_tokens|max tokens|max_completion_tokens
    |maxtokens & lower|<value|must be|should be|at most|range & !prompt|input|context|messages
    |got -
context_overflow no :: context length|context window|context size|context_length|context limit
    |prompt is too long|prompt too long|prompt too large|max_seq_len|maximum prompt length
    |max_model_len|maximum input length|max input characters|maximum input characters
    |max input length|input is too long|input too long|input length and|range of input length
    |input token count|too many input tokens|too many tokens|maximum number of tokens
    |reduce the length of the|reduce your prompt|shorten the prompt|shorten your|exceeds the model
    |maximum sequence length|max sequence length|model's maximum
    |exceeds the maximum number of tokens|n_ctx|exceeds the available context|history too long
    |conversation is too long|conversation too long|length of messages|longer than the model
    |than the model supports|messages too long|length limit was reached|length limit reached
    |finish_reason=length & !per minute|<tpm>|per day|please wait|wait before|subject line
    |title|comment|description field
context_overflow no :: tokens|token & exceed|too large|too long|larger than|maximum|must be less
    |must have less|greater than|above & input|prompt|request|message|context|conversation|history
    & !per minute|per day|rate limit|please wait|wait before|expired|per second|max_tokens must
    |max_tokens is|auth|login|daily|access token|quota|month|/\\bt?pm\\b/
context_overflow no :: <context|context window|the window & not fit|too small|window is|does not hold & token
    |history|prompt|conversation|messages|document
context_overflow no :: conversation|history|prompt|input & /\\d tokens/ & max is|maximum is|limit is|only|allowed
    & !minute|second|day|quota
context_overflow no :: conversation|history|prompt|messages & /\\d tokens/ & model & takes|accepts|handles|allows
    |supports|fits|over the|above & !minute|second|day|quota
context_overflow no :: request too large & token|tpm|per min
context_overflow no :: max_tokens|max_new_tokens|max_completion_tokens
    & /got -\\d|at least 1, got 0|-\\d+ is less/
# the content itself
content_refused no :: exists risk|content policy|content policies|content filter|content_filter
    |content management policy|safety system|safety setting|safety filter|safety guideline
    |safety reasons|blocked for safety|blocked by safety|due to safety|flagged|moderation|nsfw
    |responsible ai|inappropriate|prohibited content|usage polic|acceptable use|usage guideline
    |harmful|violates our|violate our|content restriction|sensitive content|offensive
    |unsafe content|unsafe prompt|blocked by content|guardrail|sexual|copyright|protected lyrics
    |protected material|recitation|toxic|hate speech|self-harm|profanity|explicit content
    |disallowed content|content was blocked|content blocked|content violation|violates content
    & !spam|no image|purchase|transaction flagged|account flagged|account has been flagged
content_refused no :: safety model|safety classifier|safety check|safety layer & refused|rejected|blocked|flagged
    |failed|stopped
content_refused no :: classified as|depicts|contains|promotes & <hate|violen|nudity|sexual|terror|<drugs>
    |self-harm|weapon
content_refused no :: nudity|nude|gore|personal data|personal information|<pii>|weapons|extremis|hateful
    & withheld|rejected|blocked|detected|filtered|removed|suppressed|redacted & !order|shipment|export
content_refused no :: i can|unable to|i won|not able to|sorry|model can|assistant can & /\\b(?:i can(?:'|\u2019)?t|i cannot|i(?:'|\u2019)m unable to|i am unable to|i won(?:'|\u2019)t|i(?:'|\u2019)m not able to|i am not able to|i(?:'|\u2019)m sorry, but i|sorry, i can(?:'|\u2019)t|model cannot|assistant cannot|model can(?:'|\u2019)t) (?:can't |cannot |can\u2019t )?(?:help|assist|share|provide|comply|generate|create|write|answer|do that|discuss|engage|fulfill|continue|produce|disclose|reveal|support|process|with|offer|give)/
# stopped on purpose: our run, not the customer's order
cancelled maybe :: <job & /\\bjob \\d+\\b.* cancell?ed/
business_rejected no :: <order|<payment|<policy|<booking|<subscription|<contract|<invoice
    |<appointment|<reservation|<shipment|<flight|<purchase|<transaction|<ticket|<trip|<event>
    |<meeting|<plan>|<membership|<customer|<payer|<delivery|<claim|<loan & cancelled|canceled
    & !by user request|<task|<job|context canceled|<worker|shutting down|by operator|operation was
    |timeout|timed out|request was|<run
cancelled maybe :: aborterror|operation was aborted|operation aborted|request was aborted
    |request aborted|task cancelled|task canceled|task was cancelled|task was canceled
    |tasks were cancelled|cancelled by|canceled by|cancelled via|canceled via|context canceled
    |context cancelled|operation cancelled|operation canceled|operation was cancelled
    |operation was canceled|job cancelled|job canceled|job was cancelled|job was canceled
    |run cancelled|run canceled|run was cancelled|request cancelled|request canceled
    |request was cancelled|request was canceled|build cancelled|build was cancelled
    |query cancelled|query was cancelled|workflow was cancelled|workflow cancelled
    |due to user request|by user request|on user request|keyboardinterrupt|interrupted by user
    |aborted by user|aborted by the user|user aborted|user interrupt|user cancelled|user canceled
    |stopped by user|stopped by the user|stopped by operator|stopped by an operator
    |stopped by admin|terminated by operator|terminated by admin|terminated by user|killed by user
    |killed by admin|aborted by|pipeline was canceled|execution cancelled|execution was cancelled
    |execution canceled|execution aborted|was interrupted|interrupted system call|sigterm|sigint
    |received termination|requested cancellation|cancellation requested|cancellation token
    |cancelled: |canceled: |shutdown requested|manually stopped|stop requested|was stopped by
cancelled maybe :: killed|stopped|aborted|terminated|cancel|interrupted|halted|ended & /\\b(?:killed|stopped|aborted|terminated|cancell?ed|interrupted|halted|ended) by (?:an? |the )?(?:user|admin\\w*|operator|supervisor|owner|manager)\\b/
    & !order|booking|subscription|contract|membership|auction|listing|trading
cancelled maybe :: on request of|at the request of|on the request of|upon request of & halted|stopped|aborted
    |ended|interrupted|killed & operator|<user|admin|owner
cancelled maybe :: pressed stop|pressed ctrl|ctrl-c|ctrl+c|stop button|clicked stop|clicked cancel
    |pressed cancel|pressed escape
cancelled maybe :: shutting down|shutdown in progress|server is shutting|drain & <task|worker|<job
    |cancel|<run
# our machine
resource_exhausted maybe :: no space left|out of disk|out of space|disk quota exceeded|enospc|out of memory|outofmemory
    |cannot allocate memory|enomem|too many open files|emfile|oom-kill|oomkilled|oom killed
    |oom-killer|can't start new thread|unable to create new native thread
    |unable to create native thread|requires more system memory|unable to allocate|std::bad_alloc
    |memoryerror|cannot fork|fork: retry|fork failed|not enough space|not enough memory
    |not enough disk|disk full|disk is full|file system full|filesystem full|filesystem is full
    |insufficient memory|insufficient disk|memory limit exceeded|memory exhausted|gc overhead
    |heap space|no more processes|resource limits exceeded|thread limit|exceeded memory|inodes
    |file descriptor limit|too many open handles|device memory|low on disk|low on memory
    |system limit for number|file watchers|inotify|ulimit|semaphore set|shared memory segment
    |nofile|rlimit
resource_exhausted maybe :: no memory left|no disk left|no space on|memory is full|volume full|partition full
    |volume is full|partition is full
resource_exhausted maybe :: <swap|tmpfs|ramdisk|<process|<thread|<handle|descriptor & exhausted|<full>
    |limit reached|table full & !process order|thread pool|connection|per minute|per second
resource_exhausted maybe :: <disk|<volume|filesystem|partition|<memory|<swap|<ram> & /\\b(?:100|9\\d) ?%|almost full/
# the request had gone out
invalid_argument no :: syntax error & !upstream
invalid_argument no :: page token|page_token|pagetoken|continuation token|pagination cursor & invalid|expired
    |not valid|unknown|malformed
permission_denied no :: session|login|token|credential|sign-in|cookie & timed out|timeout|time out
    |<expired|has expired|<invalid|no longer valid & !page token|next token|continuation|session creation|max|coupon|checkout session
in_doubt_timeout maybe :: read timed out|readtimeout|read timeout|deadline exceeded
    |deadlineexceeded|i/o timeout|connection reset|econnreset|reset by peer|broken pipe|epipe
    |socket hang up|connection aborted|remote end closed|closed without|server disconnected
    |connection closed|closed connection|closed the connection|connection was closed
    |connection was lost|connection lost|lost connection|connection dropped|premature
    |unexpected eof|unexpected end of stream|before headers|response ended|incompleteread
    |incomplete read|gateway timeout|gateway time-out|upstream request timeout|server closed the
    |went away|has gone away|connection termination|stream closed|goaway|socket closed
    |connection interrupted|peer closed|transport closed|unexpectedly closed|closed unexpectedly
    |terminated unexpectedly|no response from|no response received|did not respond|not responding
    |response was truncated|truncated response|rst_stream|stream terminated|no reply
    |no answer from|did not reply|not reply in time|did not answer|not answer in time|was dropped
    |dropped before|respond in time|server hung up|empty reply
in_doubt_timeout maybe :: eof & /: eof$|: unexpected eof|\\beof\\b.*(?:read|body|response)/
invalid_argument no :: waiting for locator|waiting for selector|waiting for element
    |element not found|no such element
invalid_argument no :: timeout & must be|invalid|parameter|argument|value|out of range
in_doubt_timeout maybe :: timed out|timeout|time-out|etimedout|took too long|taking too long
    |timeouterror|timedout & !out of time
# rights, keys, the set-up
permission_denied no :: permission denied|access denied|access is denied|permission_denied
    |access_denied|accessdenied|not entitled|entitlement
permission_denied no :: has no access|have no access|no access to|not have access|cannot access
    |no rights|insufficient privilege|insufficient scope|insufficient permission
    |insufficient rights|lacks permission|lack permission|privilege|missing scope|required scope
    |required role|missing role|<saml|two-factor|forbidden|<2fa|not allowed to access
    |not allowed to call|not allowed to use|not allowed to perform|requires admin
    |does not have the role|not have the required role|not a member of the|admin only|admins only
    |administrators only|administrator rights|requires role|<mfa>|multi-factor|multifactor|<otp>
    |one-time password|one-time code|step-up|second factor & !no such file
permission_denied no :: invalid signature|signature mismatch|signature does not match
    |signature verification|signature expired|signature is invalid|bad signature|wrong signature
    |signature invalid|api key|api-key|apikey|access key|app key|secret key|invalid credential
    |credentials are|no credentials|bad credentials|credential|invalid token|token is invalid
    |token has expired|token expired|token is expired|token has been revoked|token revoked
    |expired token|access token|login token|jwt|invalid username|username or password
    |user name or password|incorrect password|wrong password|invalid password|password is required
    |password expired|authentication failed|authentication required|authentication failure
    |authentication error|auth failed|auth failure|not authenticated|unauthorized|not authorized
    |unauthorised|not authorised|unauthenticat|not logged in|must be logged in|login required
    |login failed|please authenticate|could not authenticate|invalid login|log in|sign in
    |re-authenticate|reauthenticate|signature has expired|expired signature|permission to|permissions|no permission|clock skew|skewed
    |timestamp is too|timestamp expired|request has expired|request expired|nonce
    & !permission to proceed
permission_denied no :: <missing|<invalid|<required|<wrong|<bad>|<no> & bearer|secret|<token>
    |<role>|credential|<auth>|passphrase|<login> & !page|next|cursor|continuation|csrf|max
    |role of the|message|invite
permission_denied no :: must be an admin|must be admin|must be an owner|must be the owner|must be logged|must be signed
permission_denied no :: not part of the|not in the group|is not in group|not among the & group|team|role|<list>|owner
    |approver|admin|member
permission_denied no :: endpoint|<api>|feature|function|<route|interface|operation & reserved for|internal only
    |only for|switched off|turned off
permission_denied no :: secret|password|<key>|certificate & rotated|replaced|renewed|outdated|has changed
permission_denied no :: consent & admin|tenant|oauth
permission_denied no :: switched off by|sso is|single sign-on|no payment method|may only read|read-only user
    |your seat|your licence|your license|not been set up|never been set up|not set up|not belong to this
    & !customer|<order|<cart
permission_denied no :: only & /^only (?!one|the|new)(?:\\w+ ){1,2}(?:may|can|are allowed to) /
permission_denied no :: password|subscription|<license|<licence|<terms|<domain|<mfa> & must be changed|must be renewed
    |must accept|must be accepted|must verify|must be verified|must enrol|must be upgraded & !customer|buyer|order
permission_denied no :: <missing|not found|unknown|<wrong|is required|<required & <tenant|<session|permission|feature flag
    |<environment|payment method|key id|client id|<client>|organi & !"|'|<field|parameter|argument
    |customer|<one of|format
permission_denied no :: revoked & <key|<token|access|<license|<licence|credential|certificate|<grant & !offer
permission_denied no :: no valid session|no valid token|no active session|security clearance
permission_denied no :: seat limit|seats in use|user limit|member limit|buy more & !flight|train|theat|room
permission_denied no :: <access|<login|account & restricted|locked out & temporar|security|policy
permission_denied no :: <config|configuration|<setting|<settings|environment|<env> & <missing|not set|undefined
    |not defined|unset|absent & !argument|<field|parameter
permission_denied no :: role & /\\brole \\S{1,40} (?:cannot|can't|may not|must not|is not allowed)/
permission_denied no :: <lacks|<lacking|<without & <role|permission|<scope|<right|<grant
permission_denied no :: <edition|<tier>|professional|enterprise|premium & only|available in|available on
    |requires|upgrade|not included|not part of & !order|customer|member|product|item
permission_denied no :: not a member of|not the owner|non-payment|lacks the scope|<mtls
permission_denied no :: signature|identity|caller & not be verified|could not verify|unverified
    |unknown caller
permission_denied no :: <requires|<needs|<need|no valid & enterprise|<plan>|oauth|<token>|<login>
    |<role>|<scope|<license|<licence|subscription|authenticat|<pro> & !customer|patient|page token
permission_denied no :: handshake & fail|error|alert & !timed out|timeout
permission_denied no :: <access & denied|restricted to|revoked
permission_denied no :: subscription|<license|<licence|<plan> & lapsed|ended|expired|inactive
    |cancelled
permission_denied no :: not permitted & !<state|status|while|after|once|during|before
permission_denied no :: whitelist|allowlist|allow list|white list|block list|blocklist & <ip>|not
    |address
permission_denied no :: ip address|your ip|<ip not|client ip|source ip & not allowed|block|denied
    |not permitted|banned|reject
permission_denied no :: <not verified|unverified & email|identit|domain|sender|account
permission_denied no :: usage cap|extra usage|regain access|usage tier|usage limits
permission_denied no :: billing|unpaid|past due|overdue|in arrears & account|invoice|payment
    |subscription|service|billing & !customer|order|library|loan
permission_denied no :: spending limit|spend limit|spending cap|spend cap|budget has been exceeded
    |budget exceeded for api|monthly limit|monthly quota|monthly usage|credit balance
    |out of credits|no credits|more credits|included credits|insufficient credits
    |insufficient credit|not enough credits|insufficient balance|balance is too low
    |exceeded your current quota|free tier|free trial|free plan|trial expired|trial has expired
    |trial period|trial has ended|trial ended|upgrade your plan|upgrade your account|upgrade to
    |your plan|current plan|plan does not|not included in|does not include
    |subscription has expired|subscription expired|subscription is inactive|no active subscription
    |contact sales|payment required|top up|recharge|add credits|purchase more|prepaid
    & !per minute|slow down|customer|payer|buyer|wallet|cardholder
permission_denied no :: credits|<credit> & <plan|used up|used all|exhausted|depleted|ran out
    |run out & !customer|order
permission_denied no :: suspended|disabled|deactivated|locked|active|activated|banned|frozen
    |restricted|terminated|blocked & /\\b(?:accounts?|users?|organi[sz]ation|tenant|workspace|project|app|application|key|merchant|client|service)\\b/
    & /\\b(?:suspended|disabled|deactivated|locked|not active|inactive|not activated|banned|frozen|restricted|terminated|blocked)\\b/
    & !order|<customer|user is blocked by|blocked by the user|period|employee
business_rejected no :: daily|weekly|monthly|per day|single & transfer|withdraw|purchase|payment
    |card|transaction|refund|payout & limit|maximum|cap & !api|<request|quota|spending limit
    |per-minute
rate_limited no :: daily|per day|24 hours|monthly|per month|this month|today|weekly & quota|limit
    |<cap>|allowance|allotment & exceed|reach|used|exhaust|<max|hit & !/at most \\d+ times/
    & !customer|same document|withdraw|transfer|cardholder|purchase
permission_denied no :: <model|<deployment>|endpoint|bucket|<queue|<topic>|<database|<index>
    |<schema|<engine|<channel|webhook|<region|<cluster|namespace|<collection|<project|<workspace
    |<provider|<function|repository|registry|keyspace|<table|<route|<api>|<plugin|<connector
    |<service & not found|does not exist|doesn't exist|not exist|no such|not deployed
    |not available|unknown model|not supported|not configured|not provisioned|could not be found
    |unknown database|is not loaded|not registered|unknown provider|not provided & !<row|record
    |<order|column|parameter|argument|message|<field|temporarily|currently unavailable|overloaded
    |try again later
permission_denied no :: does not support|not enabled|not been enabled|has not been used
    |is disabled|has been disabled|been disabled|feature is not|not available in your
    |not supported in your|not available for your|unsupported country|not available in
    |location is not supported|not activated|not been activated|not configured|is not set
    |not set up|environment variable|missing configuration|configuration error|misconfigur
    |invalid configuration|not subscribed|no subscription|not installed|command not found
    |executable file not found|<license|licence|no module named|try pulling it|not initialized
    |not onboarded|requires setup|needs to be configured & !<order|customer|driver
permission_denied no :: bandwidth|storage|disk|<space & quota|limit exceeded|exceeded
    & !per request|file too|body
rate_limited no :: exceeded quota|quota exceeded|quota has been|over quota|out of quota
    |quota is exhausted|quota exhausted
rate_limited no :: quota & /\\bquotas?\\b/ & !been modified
permission_denied no :: exceed & /exceed(?:s|ed)? (?:your|the) (?:\\w+ )?(?:account|droplet|instance|seat|plan|project|usage|v?cpu|core|resource|node|server|volume) limit/
permission_denied no :: your account|the account & pending|under review|being reviewed|not yet approved|delinquent|verification
permission_denied no :: timestamp|recvwindow|clock & outside|ahead|behind|skew|drift|too old
rate_limited no :: complexity|query cost|request weight & budget|exceed|limit|exhausted|used
""",
        "English words",
    )
    + REFUSALS
)
