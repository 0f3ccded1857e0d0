"""What English words say, the second half: rates, rules of the business, the busy.

The order carries meaning here too: rates stand before rules of the business, and what is busy behind
them. The caller's arguments come last, in `english_arguments`.
"""

from .phrases import Rule, parse_rules

REFUSALS: tuple[Rule, ...] = parse_rules(
    """
# rates
rate_limited no :: flowexception|api limit|pacing violation|flood control|flood wait|floodwait|rate limit|rate-limit|ratelimit|rate_limit|rate exceeded|throttl
    |too many requests|too many calls|too many attempts|too many messages|too many queries
    |too many api|request limit|requests per|calls per|per minute|per second|per hour|<rpm>|<tpm>
    |<tps>|frequency limit|frequency limited|too frequent|frequently|too fast|too quickly
    |slow down|request rate|quota will be replenished|call volume|call limited|call limit
    |frequency too high|frequency is too high|in a short time|concurrency limit
    |concurrency exceeded|concurrent requests|too many concurrent|concurrent limit|max concurrent
    |flow control|requests exceeded|hourly limit|minute limit
    |limit exceeded, try|<burst|ban will last|retry shortly|back off|cool down|cooldown
    |wait a moment between|in a short period|cooling down|attempt limit & !per customer|withdraw
rate_limited no :: too many & /\\btoo many (?:\\w+ ){0,2}(?:attempts|tries|retries|logins|calls|requests|messages|hits|queries|operations|jobs|statements|transactions|searches)\\b/
rate_limited no :: /s|/min|/hour|per sec|per min|per hour & /\\d ?(?:requests?|calls?|reqs?|msgs?|messages|queries) ?(?:\\/|per )(?:s|sec|second|min|minute|hour)\\b/
permission_denied no :: <account|<user|<seat|member|<plan|project|workspace|<cluster|organi|storage|instance|server & limit reached
    |limit has been reached|limit exceeded & !rate|request|<call|<calls|api|message|<per|second|minute|<hour
    |daily|token|retry|try again|wait|concurren|customer|order|withdraw|transfer|purchase|<must|<size|length|<field
    |parameter|argument|value|<lines|timeout|connection|memory|disk|guest|passenger|booking
rate_limited no :: limit reached|limit has been reached & /\\brate|request|\\bcalls?\\b|\\bapi\\b|message|quer|token|\\bper\\b|minute|second|hour|day|throttl|retry|try again|wait|concurren|usage|quota|^(?:the )?limit/
rate_limited no :: too often|space out|hourly cap|cap reached, resets & !failed
rate_limited no :: <qps>|<rpm>|<tpm>|<tps>
# rules and states of the business
business_rejected no :: already a |already an |there is already & !<root|superuser|initiali
business_rejected no :: out of date|out-of-date & <file|resource|working copy|<branch|<record|document & !client|cache|browser
business_rejected no :: status|state & /\\b(?:status|state)\\b.{0,20}\\b(?:prevents?|forbids?|blocks?)\\b/
business_rejected no :: time limit for & passed|<over>|elapsed|expired
business_rejected no :: constraint failed|check constraint|version solving failed|lock date|must be unique|has already been used
business_rejected no :: not available for|unavailable for|not available to be & purchase|checkout|<sale|booking|<loan|<rent|delivery|pickup
business_rejected no :: not allow & /\\b(?:does|do|did) not allow (?!this|the|an?\\b|your)\\w+ing\\b/ & !parameter|<field|plan|role|polic
business_rejected no :: has been modified|has been changed|was modified|was changed & after you|since you|refresh|reload
    |please update your copy
business_rejected no :: must be & /\\bmust be (?:at least )?\\d+ (?:years|or older|or over)\\b/
business_rejected no :: <lot>|<batch>|<goods|<article|<device|<vehicle|<product & recalled|quarantined|embargoed
business_rejected no :: previously published|already published|minimum not met|check-and-set|compare-and-swap
business_rejected no :: limit of|maximum of|max of & /\\b(?:limit|maximum|max) of [\\d.,]+ (?:\\w+ ){0,3}(?:has been |have been |is |was )?(?:reached|exceeded|hit)\\b/
    & !<per|second|minute|hour|daily|today|month|token|request|quota
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
transient no :: <no & /\\bno (?:\\w+ )?(?:responders|workers|consumers|nodes|hosts|brokers|agents|executors|runners)\\b/ & available|online
    |reachable|connected|registered|found for
business_rejected no :: <no> & /\\bno (?:[\\w'#-]+ ){0,6}(?:left|remaining|in stock|on hand|available)(?![\\w-])/ & !space|device|memory
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
business_rejected no :: too many & /\\btoo many (?:\\w+ ){0,2}(?:returns|orders|withdrawals|transfers|payments|transactions|purchases|trades|bookings|claims|complaints|loans|cancellations|no-shows|reservations|refunds|absences|rentals)\\b/
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
business_rejected no :: requested|ordered|asked for & /(?:requested|ordered|asked for) \\d+.{0,40}(?:available|left|in stock|on hand)|(?:available|left|in stock|on hand)(?: is|:)? \\d+.{0,40}(?:requested|ordered|asked for)/
business_rejected no :: in state|in status & /\\bis (?:already )?in (?:state|status)\\b/
business_rejected no :: returnable|refundable|exchangeable|transferable|bookable|deliverable|cancelable
    |cancellable|sellable|shippable|redeemable & <not|non-|<no
business_rejected no :: under investigation|on public holidays|on weekends|on sundays|not possible on
business_rejected no :: <budget & exhausted|used up|is spent|overspent & !retry|error|token|<api>|request
business_rejected no :: already & /\\balready (?:been )?\\w+ed(?: in| out| off| up)?\\b/ & !initiali|<loaded|imported
    |connected & !/\\b(?:server|listener|client|socket|session|loop|thread|module)s?(?: \\S+)? (?:is |are |was |were |has |have )?already\\b/
business_rejected no :: <only & <left|remaining|available|in stock & !in the|on the|available in|available to|available on
business_rejected no :: insufficient|not enough|not have enough|not have sufficient|doesn't have enough|exceeds available|out of|no more|unavailable
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
business_rejected no :: credit hold|payment hold|shipping hold|marked as inactive|inactive recipient|suppression|hard bounce|<bounced|buying power|<exists> & !not exists|no longer exists|if it exists|that exists
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
    |approve|backdate|reschedule|assign & !model returned|following error|parse|decode|<read|connect|null|undefined|property
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
transient no :: not a leader|must pass through the leader|is a follower|not yet prepared|still joining|not joined
transient no :: maintenance|restarting|rebooting|starting up|warming up|being loaded|is loading
    |is starting|not accepting|capacity exceeded|capacity is exceeded|at capacity|over capacity|overloaded|overload|failing over|failover
    |leader election|being elected|no leader|leader not available|stepping down|not the leader|electing
    & !permanently
transient maybe :: please try again|try again later|try again shortly|try again in a|try later
    |retry later|retry your request|temporarily|temporary|currently unavailable|currently down
    |is down|service unavailable|is unavailable|<busy|not ready|unavailable|unreachable|not reachable
    & !<invalid|<must|check your|incorrect|wrong|after fix|correct the|permanently|product|item
    |restricted|suspended|blocked|<locked|lockout|disabled|security|unsupported|<format|denied|refused|declined|rejected
    |expired|forbidden|with another|with a different|after topping
transient maybe :: upstream error|bad gateway|internal server error from upstream
    |encountered an issue|leader|election|not primary|no instances available|no provider|can retry
    |please retry & !<invalid|<must
""",
    "English words",
)
