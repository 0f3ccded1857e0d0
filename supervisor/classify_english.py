"""What English words say, for errors without a code that decides; the first rule that holds wins.

The order carries meaning: a fault of a program shows through anything, doubt stands before plain
failures of connections, money and rights before rates, rates before rules of the business, and the
caller's arguments come last. Words like *retry*, *limit* or *token* prove nothing alone.
"""

from .classify_phrases import Rule, parse_rules

ENGLISH: tuple[Rule, ...] = parse_rules(
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
in_doubt_timeout maybe :: never arrived|never came|gave up waiting|lost contact|reset the connection
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
# rates
rate_limited no :: flowexception|rate limit|rate-limit|ratelimit|rate_limit|rate exceeded|throttl
    |too many requests|too many calls|too many attempts|too many messages|too many queries
    |too many api|request limit|requests per|calls per|per minute|per second|per hour|<rpm>|<tpm>
    |<tps>|frequency limit|frequency limited|too frequent|frequently|too fast|too quickly
    |slow down|request rate|quota will be replenished|call volume|call limited|call limit
    |frequency too high|frequency is too high|in a short time|concurrency limit
    |concurrency exceeded|concurrent requests|too many concurrent|concurrent limit|max concurrent
    |flow control|requests exceeded|hourly limit|minute limit|limit reached|limit has been reached
    |limit exceeded, try|<burst|ban will last|retry shortly|back off|cool down|cooldown
    |wait a moment between|in a short period & !per customer|withdraw
rate_limited no :: too many & /\\btoo many (?:\\w+ ){0,2}(?:attempts|tries|retries|logins|calls|requests|messages|hits)\\b/
rate_limited no :: too often|space out|hourly cap|cap reached, resets & !failed
rate_limited no :: <qps>|<rpm>|<tpm>|<tps>
# rules and states of the business
business_rejected no :: doesn't want to proceed|does not want to|was rejected by|user declined
    |declined by|user rejected|use was rejected|denied by user|denied by the user
business_rejected no :: blocked by the user|blocked by user|blocked the bot|user has blocked
    |opted out|unsubscribed|<no updates|nothing to update|no changes|nothing to commit
    |nothing to do
permission_denied no :: only one & instance|session|client|process & running|another|other
business_rejected no :: <overlap|non-fast-forward|fetch first|merge conflict|protected branch
    |unique constraint|violates unique|duplicate key|duplicate entry|would become negative
    |negative balance|unable to resolve dependency
invalid_argument no :: e404|not in this registry|no matching distribution|pathspec
permission_denied no :: could not read username|terminal prompts disabled|host key verification
business_rejected no :: <no> & <left|remaining|in stock|on hand|available & !space|device|memory
    |server|provider|healthy|instances
business_rejected no :: <age>|years old & below|<under|minimum|required|verification|not reached|<over>
business_rejected no :: passport|<visa|driving lic|identity card|warranty|insurance|promotion|campaign|<offer
    |<sale>|<vote>|auction|membership & expires|ran out|<ended|is over|<lapsed|has passed
business_rejected no :: <lesson|<class>|<course|<shift|<flight|<room>|<session|<tour|<trip|waiting list|<hotel
    |<workshop & is full|fully staffed|fully booked|overfull|double-booked|full up
business_rejected no :: asked not to|do not contact|not to be contacted|used up by|would breach|breaches the
    |quarantin|prerequisite|double-booked|not accepted for|not accepted here|free minimum|minimum of
    |in the workshop|under repair & !cpu|memory
business_rejected no :: before|earlier|previously|twice & /\\b(?:requested|issued|received|used|refunded|claimed|submitted|reported|paid|booked) (?:before|earlier|previously|twice)\\b/
business_rejected no :: proof of|insurance|guarantor|guardian|collateral|vaccin|prescription|passport|<visa|id card
    & <missing|<required|is needed|lacking|not on file
business_rejected no :: must have|must hold|must own|must show|must present|must bring|must finish|must complete
    |must accept|must return|must pay & <customer|<driver|<guest|<applicant|<patient|<passenger|<traveller|<employee
    |<buyer|<seller|<renter|<tenant|<student|<member|<candidate|<you> & !<field|parameter|argument|header|column
business_rejected no :: must & /\\bmust (?:first )?be (?:made|taken|\\w+ed)\\b/ & <customer|<guest|<booking|<card>|<invoice
    |<vacation|<leave>|<vehicle|<loan|<ticket|<patient|<employee|<claim|<contract|<shipment|<parcel|<buyer|<order>
    & !specified|provided|supplied|included|formatted|encoded|defined|separated|expressed|rounded|entered|passed
    |prefixed|selected|based|filled|required|a number|must be set|<field|parameter
business_rejected no :: too many & /\\btoo many (?:\\w+ ){0,2}(?:returns|orders|bookings|claims|complaints|loans|cancellations|no-shows|reservations|refunds|absences|rentals)\\b/
business_rejected no :: for the|for a|for an|for this|for that & /\\btoo (?:large|high|low|small|old|young|heavy|big|short|long) for (?:the|a|an|this|that) (?!column|field|type|buffer|request|int|parameter|model|header|index|context)/
business_rejected no :: ticket|<pass>|season pass|railcard|boarding pass & not valid on|not valid for|not valid in
business_rejected no :: open period|closed period|accounting period|fiscal|in advance|<notice> & must|needed|<required
    |at least|only
business_rejected no :: <stock|inventory|<balance|on hand & negative
business_rejected no :: cart is empty|basket is empty|cart has no|no items in the|temporarily closed|is closed for
business_rejected no :: <max & /\\bmax(?:imum)?(?: of)? \\d+ \\w+ per (?:member|customer|person|guest|household|employee|patient|order|visit)/
business_rejected no :: reserved|occupied|taken|booked & /\\b(?:is|are) (?:already )?(?:reserved|occupied|taken|booked)\\b/
    & !name|memory|keyword|<port|<word
business_rejected no :: rejected by|declined by|refused by|turned down by & credit|<bank|issuer|bureau|insurer
    |customs|carrier|<risk|underwrit
business_rejected no :: <sale>|<sales>|<product|<item & blocked|recalled|on recall
business_rejected no :: <only & <left|remaining|available|in stock & !in the|on the|available in|available to|available on
business_rejected no :: insufficient|not enough|exceeds available|out of|no more|unavailable
    |no remaining|exceeds remaining|exceeds the available|lack of|zero & <stock|inventory|<seats
    |<rooms|<units|quantity|<items|balance|<funds|availability|<points|capacity for|tickets|<slots
    |allocation|leave|vacation|headcount|budget
business_rejected no :: no longer available|no longer exists in|has expired & seat|item|product
    |room|offer|slot|fare|price|table|listing|ticket|sku|position
business_rejected no :: only be used|only once|only new|only the owner|only members
    |only available to|discontinued|reserved for|no-fly|<lapsed|<occupied|below the minimum
    |under the minimum|less than the minimum|prescription|blocked for|<on leave|non-refundable
    |nonrefundable|not refundable|non-transferable|non-returnable|final sale|cancellation rejected
    |not cancellable|non-cancellable
business_rejected no :: exceed|greater than|more than|larger than|higher than|<above & stock
    |on hand|paid amount|amount paid|vacation|available|balance|remaining|refund|approved|ordered
    |outstanding|authori|entitle|allowance|invoice|credit limit & !included credits|<plan>|<api>
    |quota|<pro>
business_rejected no :: not permitted & refund|cancel|return|transfer|exchange|change|after|before
business_rejected no :: credit hold|payment hold|shipping hold|marked as inactive|inactive recipient|suppression|hard bounce|<bounced|buying power|<exists> & !not exists|no longer exists|if it exists
business_rejected no :: sold out|out of stock|in stock|on backorder|backordered|fully booked
    |overbooked|no longer for sale|no longer valid|not for sale|declined|credit limit
    |spending rule|limit per customer|per customer|per household|per order|per person|per guest
    |per passenger|per employee|per account|over budget|exceeds budget|exceeds the budget
    |budget exceeded|budget is used up|delisted & !api
business_rejected no :: already & /\\balready (?:been )?(?:shipped|cancell?ed|closed|paid|processed|exists?|refunded|settled|approved|rejected|completed|submitted|registered|used|taken|in use|booked|redeemed|merged|archived|deleted|captured|confirmed|assigned|sent|delivered|signed|expired|started|finished|reserved|published|released|reported|done|active|enrolled|invited|member|a member|subscribed|posted|voided|filled|executed|issued|locked|matched|pending|open|running|reversed|claimed|invoiced|resolved|terminated|accepted|activated|transferred|scheduled|dispatched|departed|checked in|has a|have a|a list member|a \\w+ member|returned|billed|reimbursed|received|picked|packed|allocated|reconciled|frozen|has an|linked|associated|attached|requested|replaced|been)/
business_rejected no :: already & /\\b(?:used|paid|shipped|redeemed|booked|cancell?ed|closed|approved|refunded|taken|sold|signed|sent|submitted|claimed) already\\b/
business_rejected no :: by some|by any|by another|checked out|taken by|claimed by|booked by|reserved by
    |occupied by|to some|to any|to another & /\\b(?:taken|claimed|booked|reserved|occupied|checked out|held|assigned) (?:by|to) (?:some|any|an)(?:body|one|other)|checked out (?:by|to)|(?:taken|claimed|booked|reserved|occupied) by\\b/
business_rejected no :: must & /\\bmust (?:first )?be (?:\\w+ly )?(?:paid|settled|approved|signed|confirmed|completed|closed|returned|verified|released|cleared|cancell?ed|delivered|shipped|invoiced|refunded|accepted|countersigned)\\b/
business_rejected no :: <state>|<status> & current|wrong state|invalid state|wrong status
    |invalid status|in its|not in|cannot be|must be in|while|does not allow|not allow|incompatible
    |unexpected|illegal|transition|only & !http status|status code|status of the request
    |status parameter|status field|state parameter
business_rejected no :: already exist|duplicate|has been closed|is closed|are closed|was closed
    |is archived|is frozen|is locked|been locked|been settled|been shipped|been cancelled
    |been archived|been refunded|been finali|is finali|been posted|been completed|been confirmed
    |been dispatched|read-only state|not mergeable|no commits between|is not in a state
    |not in a valid|has open|has active|has pending|still has|has outstanding|outstanding balance
    |still open|still active|in use by|is referenced|are referenced|referenced by|still referenced
    |depends on it|dependent
business_rejected no :: approval|approve|approver|sign-off|four-eyes|four eyes|dual control
    |second signature|second person|requires review|pending review|under review|admission webhook
    |change freeze|freeze window|code freeze|blackout|policy|compliance|regulation|embargo
    |sanction|<kyc|<aml>|risk control|risk check|risk score|credit check|fraud|blacklist
    |black list|watchlist|not eligible|ineligible|eligib|does not meet|not meet|does not qualify
    |not qualify|underage|<age limit|minimum age|under 18|cooling-off|cooling off
    |conflict of interest|legal hold|on hold|litigation|separation of duties|segregation of duties
    |not permitted by|against the rules|business rule|rule violation|violates rule|contract terms
    & !password policy|<iam|<role|<cors|prohibited content|retry policy
business_rejected no :: deadline|cut-off|cutoff|<window|<period|season|contract|<course|<event|office hours|business hours
    |opening hours|working hours|trading|market|too late|too early|<term|registration|enrollment
    |sale|campaign|auction & passed|<closed|expired|<over>|ended|<after|outside|not open|opens on|opens at|opens in|elapsed
    |not started|not yet|halted
business_rejected no :: outside & hours|area|zone|range of service|coverage|delivery
business_rejected no :: coupon|voucher|<offer|<quote>|promotion|discount|<promo|contract|<card>
    |passport|warranty|membership|gift card|visa & expired|not applicable|not valid
    |cannot be combined|been used|invalid for|limit|not yet active|revoked
business_rejected no :: deliver|ship|sell|serve|accept|buy|insure|lend|trade|operate|fly|cover & /\\b(?:does not|doesn't|do not|don't|will not|won't|cannot|can't) (?:deliver|ship|sell|serve|accept|buy|insure|lend|trade|operate|fly|cover)\\b/ & !parameter|argument|<field
business_rejected no :: active|open|concurrent|pending|unpaid|simultaneous & /\\b(?:maximum|max|limit) (?:number )?of \\d+ (?:active|open|concurrent|pending|unpaid|simultaneous)\\b/ & !request|connection|session|call|thread
business_rejected no :: stocktak|inventory count|cycle count|audit in progress|under audit
business_rejected no :: cannot|can not|can't|could not|may not|must not|not allowed|not be
    |unable to|not possible|is not|only be|no longer & cancel|refund|return|modif|delete|change
    |edit|ship|merge|void|reopen|withdraw|transfer|booked|closed|evict|reverse|post to|remove
    |combined|exchanged|upgraded|renewed|submit|dispatch|deliver|purchase|sold|rebook|settle
    |approve|backdate|reschedule|assign & !parse|decode|<read|connect|null|undefined|property
    |a number|date
business_rejected no :: maximum number|max number|limit of|exceeds the limit|exceeds limit
    |exceeded the limit|exceeds your limit|exceeds maximum|exceeds the maximum|over the limit
    |over limit|at most|no more than|minimum order|below minimum|minimum amount|maximum amount
    |exceeds your & customer|order|<day|<user|account|collaborator|member|transaction|pinned
    |total number|employee|person|<trip|claim|reimburs|travel|hotel|amount|purchase|withdraw
    |transfer|seats|booking & !characters|decimal|digits|per request|page size|page_size|batch
    |<rows|records|length|<items per
business_rejected no :: needs|requires|require|required & ticket|confirmation|consent|signature
    |deposit|prepayment|authorisation from|authorization from|second
business_rejected no :: not allowed|not available & <state>|status|<order|this user|customer
    |weekend|holiday|country|region|on sundays|for this product|for this item
    |for this account type
business_rejected no :: order|payment|transaction|request|application|claim|trade|<return|refund|exchange
    |booking|reservation|proposal|<bid|<invoice|<loan|<transfer|withdrawal|expense & rejected
    |refused|denied|blocked & !bad request|invalid
business_rejected no :: <customer|<vendor|<supplier|<employee|<passenger|<patient|<guest|<loan
    |<claim|<expense|<coupon|<voucher|<gift card|<course>|<contract|<policy|<withdrawal|<overdraft
    |<shipment|<parcel|<article|<booking|<reservation|<holiday|serial number|<account holder
    |<meeting room|<seat>|<stock>|<order block|<driver|<vehicle|<asset|<budget|<payment run|<vote
    |<class>|<flight|<student|<tenant has|<goods|<cargo|<invoice|<purchase & cannot|can not
    |may not|not apply|not released|<refused|<blocked|<stolen|<deceased|in default|exceed|collide
    |conflict|<full>|older than|terminated|level|hold only|not allowed|no more than|more than
    |not be|<denied|<rejected|suspended|<frozen|<overdue|unpaid|dunning|expired|no longer|too old
    |too young|blocks|prohibited|<lost>|damaged|recalled|quarantine & !not found|unknown|<missing
    |<invalid|format|must be|<required|does not exist|no such|parse|<id>|empty|null
# it is busy
transient no :: not ready|not yet ready|<paused & <model|<writes|<service|<server|<endpoint|<instance
    |<node|<cluster|<replica|<worker|<index
transient no :: maintenance|restarting|rebooting|starting up|warming up|being loaded|is loading
    |is starting|not accepting|capacity exceeded|capacity is exceeded|at capacity|over capacity|overloaded|overload|failing over|failover
    |leader election|being elected|no leader|leader not available|stepping down|not the leader|electing
    & !permanently
transient maybe :: please try again|try again later|try again shortly|try again in a|try later
    |retry later|retry your request|temporarily|temporary|currently unavailable|currently down
    |is down|service unavailable|is unavailable|<busy|not ready|unavailable|unreachable|not reachable
    & !<invalid|<must|check your|incorrect|wrong|after fix|correct the|permanently|product|item
    |restricted|suspended|blocked|<locked|disabled|security|unsupported|<format|denied|refused|declined|rejected
    |expired|forbidden|with another|with a different|after topping
transient maybe :: upstream error|bad gateway|internal server error from upstream
    |encountered an issue|leader|election|not primary|no instances available|no provider|can retry
    |please retry & !<invalid|<must
# it failed, and no more
unknown maybe :: unknown & /^(?:error: )?unknown(?: error| exception)?\\.?$/
unknown maybe :: unknown error|unexpected error|internal error|an error occurred|error occurred
    |something went wrong|unknown exception|unknown failure|operation failed|request failed
    |processing failed|please contact|contact support|contact administrator & !unknown error code
    |<invalid|parameter|argument
# the arguments
invalid_argument no :: must specify|must provide|must supply|must include|need to specify|failed validation|validation error|contain a valid|valid address
invalid_argument no :: found|called|named|matched|matches|with & /\\bno [\\w ]{1,30} (?:found|called|named|matched|matches|with (?:id|number|name|code))\\b/
invalid_argument no :: could not be located|cannot be located|cannot interpret|could not interpret|checksum|check digit
    |only digits|only letters|longer than|shorter than|not a property|not an attribute|please give|please pass|pass either
    |share that name|same name|give either
    & !checksum mismatch|corrupt|running|took
invalid_argument no :: please specify|please provide|did you mean|not found|no such|does not exist
    |doesn't exist|not exist|unknown|unrecognized|unrecognised|not recognized|could not find
    |cannot find|can't find|no match|no results for|matches multiple|ambiguous|more than one
    |not a valid|is not valid|<invalid|malformed|could not parse|cannot parse|can't parse
    |failed to parse|unable to parse|parse error|syntax error|not a number|not numeric
    |must be numeric|wrong format|bad format|format|<expected|out of range|out of bounds|must be
    |must not|must match|must contain|must have|must start|should be|should not|has to be|too long
    |too short|too large|too small|too many|too big|at least|at most|greater than|less than|exceed
    |maximum length|<required|missing|cannot be empty|can't be empty|may not be empty|not be empty
    |cannot be null|can't be blank|is empty|not supported|unsupported|illegal|incorrect|mandatory
    |not a directory|is a directory|cannot access|allowed values|one of|bad request
    |not allowed here|in the past|in the future|before start|violates not-null|has unknown|<wrong
    |bad json|bad value|bad input|bad date|bad argument|bad parameter|incomplete|is after
    |is before|well formed|well-formed|<empty|must lie|lie between|<no product|<no customer
    |<no order|<no user|<no record|<no item|negative|unparseable|cannot be parsed|bad value
    |wrong type|not a date|does not match|do not match|doesn't match
    |unexpected property|unexpected field|unexpected key|unexpected argument|unexpected parameter
    |unexpected value|unexpected type|unexpected character
""",
    "English words",
)
