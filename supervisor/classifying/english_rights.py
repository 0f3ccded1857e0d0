"""What English words say of rights, keys, the set-up, plans and money: whom a person has to help."""

from .phrases import Rule, parse_rules

RIGHTS: tuple[Rule, ...] = parse_rules(
    """
# rights, keys, the set-up
invalid_argument no :: not exist|not found & /(?:not exist|not found),? or (?:that )?(?:you|the user|your token) (?:do|does|may) not have/
    & !model|deployment|bucket|repositor|project
permission_denied no :: permission denied|access denied|access is denied|permission_denied
    |access_denied|accessdenied|not entitled|entitlement
permission_denied no :: has no access|have no access|no access to|not have access|cannot access
    |no rights|insufficient privilege|insufficient scope|insufficient permission
    |insufficient rights|lacks permission|lack permission|privilege|missing scope|required scope
    |required role|missing role|<saml|two-factor|forbidden|<2fa|not allowed to access
    |not allowed to call|not allowed to use|not allowed to perform|requires admin
    |does not have the role|not have the required role|not a member of the|admin only|admins only
    |administrators only|administrator rights|requires role|<mfa>|multi-factor|multifactor|<otp>
    |one-time password|one-time code|step-up|second factor & !no such file|payment
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
permission_denied no :: <authenticat|<authoriz|<log in|<login|<sign in & /(?:can't|cannot|can not|could not|couldn't|unable to|failed to) (?:be )?(?:authenticate|authorize|log ?in|sign in)\\b/
permission_denied no :: security policy|security policies & not allowed|forbid|denied|blocked|restrict
permission_denied no :: requires a password|password-protected|password protected|needs a password & !field|parameter
permission_denied no :: you are not allowed to|you're not allowed to|you are not permitted to & !after|<once|while|until|before
    |already|order|refund|cancel|customer|booking
permission_denied no :: your account balance|insufficient account balance|your balance is & !customer|payer|buyer|wallet|cardholder
permission_denied no :: have & /(?:not|n't|no longer) have (?:the |any )?(?:rights?|privileges?|authority|authorization)\\b/ & !right format|right type
permission_denied no :: <captcha|is not writable|lockout|locked out|gated repo|gated model|request access|login was refused|login refused|access refused|requires elevation|unable to open database
permission_denied no :: <your & /\\byour (?:\\w+ ){0,2}(?:account|plan|organi[sz]ation|subscription|licen[cs]e|workspace|tenant) (?:is|has|does|do|was)(?: not|n't)\\b/
    & !balance|funds|customer
permission_denied no :: credits & /\\b(?:not|n't|no|without|lack) (?:\\w+ ){0,2}(?:enough|sufficient) (?:\\w+ )?credits\\b/ & !customer|order
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
permission_denied no :: <not verified|not yet verified|unverified & email|identit|domain|sender|account
permission_denied no :: usage cap|extra usage|regain access|usage tier|usage limits
permission_denied no :: billing|unpaid|past due|overdue|in arrears & account|invoice|payment
    |subscription|service|billing & !customer|order|library|loan
permission_denied no :: spending limit|spend limit|spending cap|spend cap|budget has been exceeded
    |budget exceeded for api|monthly limit|monthly quota|monthly usage|credit balance
    |out of credits|no credits|more credits|included credits|insufficient credits
    |insufficient credit|not enough credits|insufficient balance|balance is too low
    |exceeded your current quota|free tier|free_tier|freetier|free trial|free plan|trial expired|trial has expired
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
rate_limited no :: too many tokens|too many requests|too many calls|too many messages|too many queries
    |too many emails & per day|per month|per week|tomorrow
rate_limited no :: daily|per day|24 hours|monthly|per month|this month|today|weekly & quota|limit
    |<cap>|allowance|allotment & exceed|reach|used|exhaust|<max|hit & !/at most \\d+ times/
    & !customer|same document|withdraw|transfer|cardholder|purchase
permission_denied no :: <model|<deployment>|endpoint|bucket|<queue|<topic>|<database|<index>
    |<schema|<engine|<channel|webhook|<region|<cluster|namespace|<collection|<project|<workspace
    |<provider|<function|repository|registry|keyspace|<table|<route|<api>|<plugin|<connector
    |<service & not found|does not exist|doesn't exist|not exist|no such|not deployed
    |not available|unknown model|not supported|not configured|not provisioned|could not be found
    |unknown database|is not loaded|not registered|unknown provider|not provided & !<row|record
    |<order|column|parameter|argument|message|<field|property|temporarily|currently unavailable|overloaded
    |try again later
permission_denied no :: does not support|not enabled|not been enabled|has not been used
    |is disabled|are disabled|has been disabled|been disabled|feature is not|not available in your
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
rate_limited no :: complexity|query cost|request weight & budget|exceed|limit|exhausted|used & !single query
""",
    "English words",
)
