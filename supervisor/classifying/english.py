"""What English words say, for errors without a code that decides; the first rule that holds wins.

The order carries meaning: a fault of a program shows through anything, doubt stands before plain
failures of connections, money and rights before rates, rates before rules of the business, and the
caller's arguments come last. Words like *retry*, *limit* or *token* prove nothing alone. What
programs write comes before, in `english_programs`; rights and money stand in `english_rights`; the
rates, the business and the busy in `english_refusals`; the arguments in `english_arguments`.
"""

from .english_arguments import ARGUMENTS
from .english_programs import PROGRAMS
from .english_refusals import REFUSALS
from .english_rights import RIGHTS
from .phrases import Rule, parse_rules

ENGLISH: tuple[Rule, ...] = (
    PROGRAMS
    + parse_rules(
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
bug maybe :: error|exception|undefined index & /\\b(?:typeerror|keyerror|indexerror|attributeerror|nameerror|referenceerror|zerodivisionerror|assertionerror|illegalstateexception|arithmeticexception|illegalargumentexception|invalidcastexception|indexoutofrangeexception|argumentnullexception|undefined index)\\b/ & !fetch failed|failed to fetch
bug maybe :: panic|index out of range|runtime error & /^panic: |\\bpanic: runtime|\\bpanicked at|index out of range \\[|runtime error: |list index out of range|string index out of range/
bug maybe :: unreachable code|should never happen|should not happen|cannot happen|invariant violat
    |impossible state & !sla
bug no :: tool_use|tool_calls|tool_call_id|tool_result|tool call|function call|functioncall
    |tool messages|tool message & must be followed|without|must be a response|corresponding
    |immediately after|not have response|did not have|unexpected|do not match|comes immediately
    |preceding|no matching|not found in|did not find|pre-fill
bug no :: roles must alternate|must alternate between|first message must
    |text content blocks must be non-empty|non-empty content|all messages must have
    |ensure that function call turn|last message must|expected last role|with role 'tool'
    |role 'tool'|invalid message order|thinking blocks|thought_signature|reasoning_content
    |signature in thinking|no tool output found|without its required|redacted_thinking
    |function response parts|function call parts
bug no :: deserialize the json|failed to deserialize|no active connection|could not be serialized
    |not json serializable|is not serializable|json parse error
bug no :: schema & tool|function|input_schema|parameters & invalid|must|missing
bug no :: idempoten & different|mismatch|same|parameters|reused & !in progress|being processed|still running
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
transient no :: service|server|model|engine|temporarily & out of capacity|no capacity|insufficient capacity
    |lack of capacity & !book|<date|appointment|course|flight|hotel|<room|<table|venue|shift|guest|warehouse
transient maybe :: idempoten|previous request|original request|request already & in progress|being processed
    |still running
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
    |couldn't|cannot|unable|failed|within
transient no :: lock & /\\b(?:acquire|obtain|get|take) (?:a |an |the )?(?:\\w+ )?lock\\b/ & could not|cannot|failed
    |unable|timed out|timeout
transient no :: another|<other & /\\b(?:an)?other (?:\\S+ ){0,3}(?:process|instance|command|task|job|operation|update|sync|build|deployment)s? (?:is|are|has|have|holds|already)\\b/
    & !only one|license|<order|approval
transient no :: <lock|locked|.lock & /\\b(?:unable to|failed to|cannot|can't|could not) lock\\b|\\block(?:ed)? .{0,80}\\b(?:pid|process)\\b|\\bheld by process\\b|\\bwaiting (?:to|for) (?:the )?lock\\b/
    & !order|stock|card|account
transient no :: in progress & /\\b(?:has|have|with|while) (?:an? )?(?:\\S+ ){0,3}(?:change|operation|update|task|job|run|build|deployment|migration|sync|backup|refresh)s? (?:is |are )?(?:already )?in progress\\b/
    & !order|approval|payment
transient no :: <mode & /\\b(?:safe|maintenance|recovery|degraded|standby) mode\\b/ & <node|server|cluster|registry|service|system|database|<site
transient no :: <lock>|<lease>|<mutex & held by|holds the|holds a|already held|failed to acquire|currently held
    & !order|stock|card
transient no :: lock wait timeout|deadlock|could not serialize|serialization failure
    |database is locked|table is locked|database table is locked|lock contention
    |could not obtain lock|state lock|lock request time|lock timeout|statement timeout
    |write conflict|optimistic lock|failed to acquire lock|could not acquire lock
    |unable to acquire lock|lock is held|lock held by|concurrent update|concurrent modification
    |being updated by another|restart transaction|retry transaction|another process is
    |resource is locked by|index.lock|could not get lock
transient no :: locked & /\\blocked (?:for editing )?by (?:another|an other|someone|somebody)\\b/ & !order|account|period
transient no :: being & /\\bbeing (?:processed|edited|modified|updated|used|changed|maintained|worked on) by\\b/ & !approval|payment|order is
transient no :: conflict & /\\bconflict on (?:update|write|insert|commit)\\b|\\b(?:update|commit|transaction) conflict\\b/
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
in_doubt_timeout maybe :: did not confirm|response was lost|reply was lost|answer was lost|lost the reply|lost the response|lost the answer|was forwarded
    |after the request was|after sending & !rejected|refused|denied
in_doubt_timeout maybe :: result|outcome & is pending|still pending|not available yet|not known yet
in_doubt_timeout maybe :: acknowledg|receipt|confirmation & outstanding|not come|not arrived|not received
in_doubt_timeout maybe :: exceed & /exceed(?:s|ed)? (?:the |its )?(?:maximum |max |allowed |permitted |total |time )*(?:execution |run |processing )?time\\b(?! window)|\\btime (?:limit )?(?:was |has been |is )?exceeded/
in_doubt_timeout maybe :: died|disappeared|crashed|exited|vanished & /\\b(?:worker|process|daemon|actor|child|kernel|container|pod|node|interpreter|runner|browser|renderer)s?\\b(?:\\W+\\w+){0,5}?\\W+(?:died|disappeared|crashed|exited|vanished)\\b/
    & unexpected|premature|suddenly|while|has crashed|may have
in_doubt_timeout maybe :: stream ended|ended mid-|cut off mid|not heard back|have not heard|heard nothing back|no word back
in_doubt_timeout maybe :: stale connection|connection is stale|<disconnected:|was disconnected|got disconnected|network stream
    |communication link failure|end-of-file on communication
in_doubt_timeout maybe :: failed to & /failed to (?:write|send|read|receive) (?:\\w+ )?(?:to|from|on) (?:the )?(?:connection|socket|stream|server)/
in_doubt_timeout maybe :: running for too long|running too long|ran for too long|ran too long
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
    |could not connect to server|couldn't connect to|failed to connect|unable to connect
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
invalid_argument no :: mutually exclusive|only set one of|only set only one|only one of the parameters|cannot be used together
    |cannot both be & !voucher|coupon|discount|promo|<offer|gift|medic|drug
invalid_argument no :: not supported & /\\b[a-z]+_\\w{1,60}['"`]? (?:is|are) not supported (?:on|by|with|for) this (?:model|endpoint|api)/
invalid_argument no :: unsupportedparams|does not support parameter|unsupported parameter|unsupported value
    |unknown parameter|unrecognized request argument
invalid_argument no :: maximum tokens you requested|max_tokens|max tokens|max_completion_tokens
    |maxtokens & lower|<value|must be|should be|at most|range & !prompt|input|context|messages
    |got -
context_overflow no :: context length|context window|context size|context_length|context_window|context limit
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
    |insufficient memory|insufficient disk|memory limit exceeded|memory limit reached|memory exhausted|gc overhead
    |heap space|no more processes|resource limits exceeded|thread limit|exceeded memory|inodes
    |file descriptor limit|too many open handles|device memory|low on disk|low on memory
    |system limit for number|file watchers|inotify|ulimit|semaphore set|shared memory segment
    |nofile|rlimit
resource_exhausted maybe :: no memory left|no disk left|no space on|memory is full|volume full|partition full
    |volume is full|partition is full
resource_exhausted maybe :: <swap|tmpfs|ramdisk|<process|<thread|<handle|descriptor & exhausted|<full>
    |limit reached|table full & !process order|thread pool|connection|per minute|per second
resource_exhausted maybe :: <disk|<volume|filesystem|partition|<memory|<swap|<ram> & /\\b(?:100|9\\d) ?%|almost full/
resource_exhausted maybe :: exhausted & /\\b(?:cache|memory|system|pixel|disk|buffer|heap) (?:\\w+ )?(?:resources? )?exhausted\\b/ & !quota
# the request had gone out
invalid_argument no :: syntax error & !upstream
invalid_argument no :: page token|page_token|pagetoken|sync token|synctoken|continuation token|pagination cursor & invalid|expired
    |not valid|unknown|malformed
permission_denied no :: session|login|token|credential|sign-in|cookie & timed out|timeout|time out
    |<expired|has expired|<invalid|no longer valid & /(?:session|login|token|credential|sign-in|cookie)s?\\b(?:[^\\w.;]+\\w+){0,6}?[^\\w.;]+(?:timed out|time ?out|expired|invalid|no longer valid)|(?:timed out|time ?out|expired|invalid)\\b(?:[^\\w.;]+\\w+){0,4}?[^\\w.;]+(?:session|login|token|credential|sign-in|cookie)s?\\b(?!\\.)/
    & !page token|sync token|next token|continuation|session creation|max|coupon|checkout session
in_doubt_timeout maybe :: read timed out|readtimeout|read timeout|deadline exceeded
    |deadlineexceeded|i/o timeout|connection reset|econnreset|reset by peer|broken pipe|epipe
    |socket hang up|connection aborted|remote end closed|closed without|server disconnected
    |connection closed|closed connection|closed the connection|connection was closed
    |connection was lost|connection lost|lost connection|connection dropped|premature
    |unexpected eof|unexpected end of stream|before headers|response ended|incompleteread
    |incomplete read|gateway timeout|gateway time-out|upstream request timeout|server closed the
    |went away|has gone away|connection termination|stream closed|goaway|socket closed
    |connection interrupted|peer closed|transport closed|unexpectedly closed|closed unexpectedly
    |terminated unexpectedly|currently responding|no response from|no response received|did not respond|not responding
    |response was truncated|truncated response|rst_stream|stream terminated|no reply
    |no answer from|did not reply|not reply in time|did not answer|not answer in time|was dropped
    |dropped before|respond in time|server hung up|empty reply
in_doubt_timeout maybe :: eof & /: eof$|: unexpected eof|\\beof\\b.*(?:read|body|response)/
invalid_argument no :: waiting for locator|waiting for selector|waiting for element
    |element not found|no such element
invalid_argument no :: timeout & must be|invalid|parameter|argument|value|out of range
in_doubt_timeout maybe :: timed out|timeout|time-out|etimedout|took too long|taking too long
    |timeouterror|timedout & !out of time
""",
        "English words",
    )
    + RIGHTS
    + REFUSALS
    + ARGUMENTS
)
