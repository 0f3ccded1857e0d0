"""Codes that are words: exact ones of known services.

`FIRM` codes decide by themselves. `WEAK` ones are given by services for many things at once
(``invalid_request_error``): words may say more, and only if they do not, the code stands. A code in
neither table is read as words, see `code_words`.
"""

from collections.abc import Mapping

from .phrases import Verdict, parse_codes, token

FIRM: Mapping[str, Verdict] = parse_codes(
    """
# model providers: OpenAI and what is compatible with it, Anthropic, Google, Azure, Chinese vendors
rate_limited no :: rate_limit_exceeded rate_limit_error rate_limit_reached
rate_limited no :: rate_limit_reached_error
rate_limited no :: rate_limited too_many_requests TooManyRequestsException requests
rate_limited no :: requests_per_minute_limit_exceeded in_flight_budget_exhausted
rate_limited no :: userRateLimitExceeded Throttling ThrottlingException Throttled
rate_limited no :: ThrottledException
rate_limited no :: RequestLimitExceeded RequestThrottled RequestThrottledException
rate_limited no :: TooManyRequestsFault
rate_limited no :: ProvisionedThroughputExceededException SlowDown PriorRequestNotComplete
rate_limited no :: BandwidthLimitExceeded
rate_limited no :: EC2ThrottledException TransactionThrottled RequestRateTooLarge
rate_limited no :: OperationNotAllowedThrottled
rate_limited no :: FREQUENCY_LIMITED FREQUENCY_LIMIT_EXCEED FREQUENCY_LIMIT aop.call-limited
rate_limited no :: FREQ_LIMIT
rate_limited no :: accesscontrol.limited-by-app-access-count
rate_limited no :: accesscontrol.limited-by-api-access-count
rate_limited no :: isv.BUSINESS_LIMIT_CONTROL ModelAccountRpmRateLimitExceeded
rate_limited no :: ModelAccountTpmRateLimitExceeded
rate_limited no :: ModelAccountIpmRateLimitExceeded APIAccountRpmRateLimitExceeded
rate_limited no :: AccountRateLimitExceeded
rate_limited no :: rpm_rate_limit_exceeded tpm_rate_limit_exceeded rate_limit
rate_limited no :: REQUEST_LIMIT_EXCEEDED_PER_SECOND
rate_limited no :: flowcontrol isp.call-limited app_call_limited over_query_limit_per_second
# what Node, curl's callers and gateways give as a code: errno by name, and undici's own
transient no :: ECONNREFUSED EAI_AGAIN EHOSTUNREACH ENETUNREACH ENETDOWN EHOSTDOWN
transient no :: UND_ERR_CONNECT_TIMEOUT
in_doubt_timeout maybe :: ECONNRESET EPIPE ECONNABORTED ESOCKETTIMEDOUT ETIMEDOUT
in_doubt_timeout maybe :: UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT UND_ERR_SOCKET
permission_denied no :: EACCES EPERM EROFS ENOTFOUND CERT_HAS_EXPIRED ERR_TLS_CERT_ALTNAME_INVALID
permission_denied no :: DEPTH_ZERO_SELF_SIGNED_CERT UNABLE_TO_VERIFY_LEAF_SIGNATURE
permission_denied no :: SELF_SIGNED_CERT_IN_CHAIN
resource_exhausted maybe :: ENOSPC EMFILE ENFILE ENOMEM EDQUOT
invalid_argument no :: ENOENT EISDIR ENOTDIR ENAMETOOLONG
permission_denied no :: insufficient_quota billing_hard_limit_reached billing_not_active
permission_denied no :: quota_exceeded_error
permission_denied no :: exceeded_current_quota_error exceeded_current_quota insufficient_credits
permission_denied no :: payment_required
permission_denied no :: insufficient_balance account_deactivated budget_exceeded billing_error
rate_limited no :: usage_limit_reached model_cooldown
permission_denied no :: invalid_api_key incorrect_api_key invalid_authentication_error
permission_denied no :: authentication_error auth_error
permission_denied no :: InvalidAccessKeyId InvalidClientTokenId InvalidSignatureException
permission_denied no :: model_not_found model_not_exist DeploymentNotFound ModelNotOpen
permission_denied no :: model_not_available model_access_denied
permission_denied no :: unsupported_country_region_territory
permission_denied no :: organization_restricted organization_must_be_verified permission_error
permission_denied no :: permission_denied_error
permission_denied no :: API_KEY_INVALID API_KEY_SERVICE_BLOCKED SERVICE_DISABLED
permission_denied no :: CONSUMER_SUSPENDED BILLING_DISABLED
permission_denied no :: CONSUMER_INVALID ACCESS_TOKEN_SCOPE_INSUFFICIENT ACCESS_TOKEN_EXPIRED
permission_denied no :: API_KEY_EXPIRED
permission_denied no :: API_KEY_HTTP_REFERRER_BLOCKED API_KEY_IP_ADDRESS_BLOCKED
permission_denied no :: IAM_PERMISSION_DENIED
permission_denied no :: accessNotConfigured insufficientPermissions dailyLimitExceeded
permission_denied no :: dailyLimitExceededUnreg
permission_denied no :: Arrearage AccountOverdueError AllocatedQuotaExceeded
permission_denied no :: AllocationQuota.FreeTierOnly FreeTierOnly
permission_denied no :: InvalidEndpointOrModel.NotFound SetLimitExceeded InferenceLimitExceeded
permission_denied no :: AuthenticationFailed AuthFailure AuthFailed InvalidAuthenticationToken
permission_denied no :: AuthorizationFailed
context_overflow no :: context_length_exceeded request_too_large string_above_max_length
context_overflow no :: prompt_too_long
context_overflow no :: input_tokens_exceeded max_tokens_exceeded model_max_prompt_tokens_exceeded
context_overflow no :: context_window_exceeded
context_overflow no :: exceed_context_size_error tokens_limit_reached input_too_long
context_overflow no :: context_limit_exceeded
content_refused no :: content_policy_violation content_filter moderation_blocked
content_refused no :: ResponsibleAIPolicyViolation
content_refused no :: invalid_prompt DataInspectionFailed content_filtered
content_refused no :: SensitiveContentDetected InputTextSensitiveContentDetected
content_refused no :: OutputTextSensitiveContentDetected
content_refused no :: InputImageSensitiveContentDetected OutputImageSensitiveContentDetected
content_refused no :: image_content_policy_violation
content_refused no :: PROHIBITED_CONTENT SAFETY BLOCKLIST RECITATION SPII IMAGE_SAFETY refusal
content_refused no :: content_moderation
content_refused no :: content_violation risky_content sensitive_words sensitive_content
content_refused no :: prompt_blocked guardrail_intervened
transient no :: es_rejected_execution_exception circuit_breaking_exception
transient no :: no_shard_available_action_exception
transient no :: overloaded_error overloaded server_overloaded engine_overloaded
transient no :: engine_overloaded_error
transient no :: ServiceUnavailable ServiceUnavailableException ServiceUnavailableError
transient no :: no_available_channel
transient no :: ModelNotReadyException model_loading ServiceOverloaded resource_pending ServerBusy
transient no :: server_is_overloaded
transient no :: slow_down_overloaded ServiceBusy SystemBusy engine_busy
transient maybe :: server_error InternalServerError InternalServerErrorException InternalFailure
transient maybe :: backendError
transient maybe :: SYSTEM_ERROR isp.unknow-error isp.unknown-error
transient maybe :: LastTokenProcessing BIZERR_NEED_RETRY bad_gateway upstream_error
transient maybe :: isp.service-unavailable provider_error
in_doubt_timeout maybe :: ACQ.SYSTEM_ERROR timeout_error  gateway_timeout ModelTimeoutException
in_doubt_timeout maybe :: InternalError.Timeout upstream_timeout DEADLINE_EXCEEDED
in_doubt_timeout maybe :: OPERATION_TIMEOUT
in_doubt_timeout maybe :: Timeout timed_out ReadTimeout isp.remote-service-timeout
in_doubt_timeout maybe :: RequestTimeoutException REQUEST_RUNNING_TOO_LONG QUERY_TIMEOUT
# clouds: AWS, Azure, Google, Aliyun, Tencent, Kubernetes
permission_denied no :: AccessDenied AccessDeniedException UnauthorizedOperation
permission_denied no :: UnrecognizedClientException
permission_denied no :: ExpiredToken ExpiredTokenException SignatureDoesNotMatch
permission_denied no :: RequestTimeTooSkewed OptInRequired
permission_denied no :: MissingAuthenticationToken MissingAuthenticationTokenException
permission_denied no :: IncompleteSignature
permission_denied no :: NotAuthorized NotAuthorizedException InvalidIdentityToken
permission_denied no :: AllAccessDisabled AccountProblem
permission_denied no :: ServiceQuotaExceededException InstanceLimitExceeded VcpuLimitExceeded
permission_denied no :: VpcLimitExceeded
permission_denied no :: AddressLimitExceeded QuotaExceeded QuotaExceededException
permission_denied no :: SubscriptionRequiredException
permission_denied no :: NoSuchBucket NoSuchHostedZone AccountSendingPausedException
permission_denied no :: InvalidSecurity PendingVerification
permission_denied no :: DisabledException KMSAccessDeniedException InvalidKeyUsageException
permission_denied no :: UnauthorizedAccess Blocked NotSignedUp
permission_denied no :: MailFromDomainNotVerifiedException ConfigurationSetDoesNotExistException
permission_denied no :: RequestExpired
permission_denied no :: InvalidTimeStamp.Expired SignatureNonceUsed InvalidAccessKeySecret
permission_denied no :: Forbidden.RAM
permission_denied no :: InvalidSubscription SubscriptionNotFound SubscriptionNotRegistered
permission_denied no :: MissingSubscriptionRegistration
permission_denied no :: AuthenticationFailedException LinkedAuthorizationFailed DisallowedProvider
permission_denied no :: UserDisabled
permission_denied no :: UNAUTHENTICATED PERMISSION_DENIED Unauthorized TokenExpired InvalidToken
permission_denied no :: NoPermission
permission_denied no :: invalid_grant invalid_client unauthorized_client insufficient_scope
permission_denied no :: login_required consent_required interaction_required
business_rejected no :: BucketAlreadyExists BucketAlreadyOwnedByYou BucketNotEmpty
business_rejected no :: InvalidObjectState
business_rejected no :: ConditionalCheckFailedException IncorrectInstanceState IncorrectState
business_rejected no :: DependencyViolation
business_rejected no :: ExecutionAlreadyExists AlreadyExistsException EntityAlreadyExists
business_rejected no :: ResourceExistsException
business_rejected no :: KMSInvalidStateException DeleteConflict DeleteConflictException
business_rejected no :: InvalidStateException
business_rejected no :: IncorrectInstanceStatus IncorrectStatus InvalidStatus OperationDenied
business_rejected no :: OperationConflict AlreadyExists
business_rejected no :: ResourceAlreadyExistsException ObjectAlreadyExists 
business_rejected no :: InvalidDBInstanceState InvalidInstanceState ResourceConflictException
business_rejected no :: DisruptionBudget
business_rejected no :: UnsupportedOperation OperationNotPermittedException InvalidLifecycleState
business_rejected no :: TableAlreadyExistsException
business_rejected no :: QueueDeletedRecently OperationNotAllowed ConstraintConflict
business_rejected no :: BlobAlreadyExists LeaseIdMissing ReservedName
transient no :: TransactionConflictException TransactionInProgressException
transient no :: ConcurrentModificationException ABORTED
transient no :: OperationAborted InsufficientInstanceCapacity InsufficientCapacity
transient no :: InsufficientHostCapacity RetryableError
transient no :: ConcurrentModification OptimisticLockException LockTimeout
transient no :: ConcurrentUpdate write_conflict RestoreInProgress ResourceInUseException
transient no :: OperationInProgress UNAVAILABLE ServerIsBusy AllocationFailed
transient no :: ZonalAllocationFailed
transient no :: ResourceNotReady ResourceInsufficient ClusterUpgradeInProgress DBInstanceBusy
transient no :: ServiceInUse
transient no :: UNABLE_TO_LOCK_ROW TooManyConnections StaleElement
bug no :: IdempotentParameterMismatch IdempotencyParameterMismatch
bug no :: IdempotentParameterMismatchException idempotency_error
bug no :: UnsupportedHTTPVersion InvalidAction InvalidAction.NotFound UnknownOperationException
bug no :: MethodNotAllowed
bug no :: MalformedQueryString SerializationException MalformedXML UnsupportedProtocol
bug no :: no_such_method persisted_query_not_found
bug no :: invalid_json not_json method_not_supported unknown_method NonExistentQuery
bug no :: graphql_parse_failed idempotency_key_reuse
invalid_argument no :: NoSuchKey NoSuchEntity InvalidParameterCombination MissingParameter
invalid_argument no :: MissingRequiredParameter InvalidInstanceID.NotFound
invalid_argument no :: InvalidInstanceID.Malformed InvalidAMIID.NotFound
invalid_argument no :: InvalidGroup.NotFound NoSuchUpload NoSuchVersion KeyTooLongError
invalid_argument no :: EntityTooLarge EntityTooSmall InvalidRange
invalid_argument no :: FieldValueInvalid FieldValueRequired FieldValueNotSupported
invalid_argument no :: RequestTooLargeException InvalidBucketName
invalid_argument no :: missing_field invalid_value unknown_parameter
invalid_argument no :: invalid_type invalid_enum_value integer_below_min_value
invalid_argument no :: integer_above_max_value decimal_above_max_value
invalid_argument no :: empty_array array_above_max_length string_below_min_length
invalid_argument no :: invalid_image_url invalid_base64 unsupported_parameter
invalid_argument no :: isv.invalid-parameter isv.missing-parameter PARAM_INVALID
invalid_argument no :: ACQ.INVALID_PARAMETER MalformedPolicyDocument InvalidFilter BAD_USER_INPUT
invalid_argument no :: GRAPHQL_VALIDATION_FAILED INVALID_FIELD MALFORMED_ID REQUIRED_FIELD_MISSING
invalid_argument no :: STRING_TOO_LONG NumberFormatException
invalid_argument no :: INVALID_CROSS_REFERENCE_KEY INVALID_EMAIL_ADDRESS
invalid_argument no :: INVALID_TYPE_ON_FIELD_IN_RECORD MALFORMED_QUERY MAX_COST_EXCEEDED
# kinds of validation errors, as pydantic gives them and services pass them on
invalid_argument no :: extra_forbidden string_type int_type float_type bool_type list_type dict_type
invalid_argument no :: int_parsing float_parsing bool_parsing datetime_parsing date_parsing uuid_parsing
invalid_argument no :: url_parsing literal_error enum greater_than greater_than_equal less_than
invalid_argument no :: less_than_equal string_too_short string_pattern_mismatch value_error
# payments, shops, chat, code hosts
business_rejected no :: card_declined expired_card incorrect_cvc insufficient_funds
business_rejected no :: card_not_supported do_not_honor
business_rejected no :: generic_decline lost_card stolen_card fraudulent authentication_required
business_rejected no :: processing_error_card
business_rejected no :: payment_intent_unexpected_state charge_already_refunded
business_rejected no :: charge_already_captured charge_disputed
business_rejected no :: charge_expired_for_capture refund_exceeds coupon_expired
business_rejected no :: resource_already_exists card_error
business_rejected no :: account_closed bank_account_declined payment_method_not_available
business_rejected no :: setup_intent_unexpected_state
business_rejected no :: payment_intent_incompatible_payment_method invoice_not_editable
business_rejected no :: subscription_canceled order_creation_failed
business_rejected no :: TRANSACTION_REFUSED INSTRUMENT_DECLINED ORDER_ALREADY_CAPTURED
business_rejected no :: ORDER_NOT_APPROVED DUPLICATE_INVOICE_ID
business_rejected no :: ORDER_ALREADY_AUTHORIZED PAYER_CANNOT_PAY PAYER_ACTION_REQUIRED
business_rejected no :: CAPTURE_FULLY_REFUNDED MAX_NUMBER_OF_REFUNDS_EXCEEDED
business_rejected no :: REFUND_AMOUNT_EXCEEDED REFUND_TIME_LIMIT_EXCEEDED
business_rejected no :: CURRENCY_NOT_SUPPORTED_FOR_COUNTRY TRANSACTION_LIMIT_EXCEEDED
business_rejected no :: PAYEE_ACCOUNT_RESTRICTED AUTHORIZATION_VOIDED COMPLIANCE_VIOLATION
business_rejected no :: ACQ.TRADE_HAS_SUCCESS ACQ.TRADE_HAS_CLOSE ACQ.BUYER_BALANCE_NOT_ENOUGH
business_rejected no :: ACQ.TRADE_NOT_ALLOW_REFUND
business_rejected no :: ACQ.REFUND_AMT_NOT_EQUAL_TOTAL ACQ.SELLER_BALANCE_NOT_ENOUGH
business_rejected no :: ACQ.TRADE_STATUS_ERROR ACQ.REASON_TRADE_STATUS_INVALID
business_rejected no :: ACQ.BUYER_PAYMENT_AMOUNT_DAY_LIMIT_ERROR ACQ.BUYER_SELLER_EQUAL
business_rejected no :: ACQ.PAYMENT_FAIL ACQ.BUYER_BANKCARD_BALANCE_NOT_ENOUGH
business_rejected no :: ACQ.PAYMENT_AUTH_CODE_INVALID ACQ.ERROR_BALANCE_PAYMENT_DISABLE
business_rejected no :: ACQ.BUYER_ENABLE_STATUS_FORBID ACQ.PULL_MOBILE_CASHIER_FAIL
business_rejected no :: ACQ.TOTAL_FEE_EXCEED ACQ.TRADE_BUYER_NOT_MATCH
business_rejected no :: ACQ.DISCORDANT_REPEAT_REQUEST ACQ.CONTEXT_INCONSISTENT
business_rejected no :: ORDER_CLOSED ORDER_PAID ORDERREVERSED RULE_LIMIT OUT_TRADE_NO_USED
business_rejected no :: TRADE_ERROR
business_rejected no :: NOT_ENOUGH USER_ACCOUNT_ABNORMAL TRADE_OVERDUE BANKERROR AMOUNT_LIMIT
business_rejected no :: MONEY_LIMIT BIZ_ERR AUTH_CODE_EXPIRE
business_rejected no :: TRADE_STATE_ERROR REFUND_AMT_NOT_EQUAL ACCOUNT_FROZEN
business_rejected no :: PAYEE_NOT_EXIST_OR_CLOSED BALANCE_NOT_ENOUGH PAYER_BALANCE_NOT_ENOUGH
business_rejected no :: DUPLICATE_VALUE DUPLICATES_DETECTED ENTITY_IS_LOCKED
business_rejected no :: FIELD_CUSTOM_VALIDATION_EXCEPTION ENTITY_IS_DELETED DELETE_FAILED
business_rejected no :: CANNOT_EXECUTE_FLOW_TRIGGER FIELD_FILTER_VALIDATION_EXCEPTION
business_rejected no :: is_archived already_in_channel already_reacted cant_delete_message
business_rejected no :: cant_update_message edit_window_closed
business_rejected no :: name_taken cant_invite_self cannot_dm_bot user_is_restricted
business_rejected no :: channel_is_archived already_archived already_pinned
business_rejected no :: cant_dm_bot cant_archive_general method_not_supported_for_channel_type
business_rejected no :: thread_locked
permission_denied no :: isv.invalid-signature isv.insufficient-isv-permissions
permission_denied no :: isv.insufficient-user-permissions isv.invalid-app-id
permission_denied no :: isv.missing-signature aop.invalid-auth-token aop.auth-token-time-out
permission_denied no :: aop.invalid-app-auth-token isv.AMOUNT_NOT_ENOUGH
permission_denied no :: aop.app-auth-token-time-out isv.app-call-limited ACQ.ACCESS_FORBIDDEN
permission_denied no :: isv.OUT_OF_SERVICE
permission_denied no :: isv.PRODUCT_UN_SUBSCRIPT isv.PRODUCT_UNSUBSCRIBE isv.ACCOUNT_NOT_EXISTS
permission_denied no :: isv.ACCOUNT_ABNORMAL isv.SMS_SIGNATURE_ILLEGAL
permission_denied no :: isv.SMS_TEMPLATE_ILLEGAL isp.RAM_PERMISSION_DENY isv.DAY_LIMIT_CONTROL
permission_denied no :: isv.SMS_SIGNATURE_SCENE_ILLEGAL isv.invalid-app-key
permission_denied no :: SIGN_ERROR NO_AUTH APPID_NOT_EXIST MCHID_NOT_EXIST MCH_NOT_EXISTS
permission_denied no :: APPID_MCHID_NOT_MATCH XML_SIGN_ERROR
permission_denied no :: CA_ERROR NOAUTHORITY NO_RIGHT sessionkey-not-generate-by-server
permission_denied no :: invalid-sessionkey isv.invalid-session
permission_denied no :: not_authed invalid_auth token_revoked account_inactive missing_scope
permission_denied no :: org_login_required ekm_access_denied
permission_denied no :: team_access_not_granted accesslimited not_allowed_token_type
permission_denied no :: two_factor_setup_required access_forbidden
permission_denied no :: missing_post_type_scope restricted_action user_not_authorized
permission_denied no :: team_quota_exceeded invalid_app_id app_missing_action_url
permission_denied no :: message_limit_exceeded not_in_channel enterprise_is_restricted
permission_denied no :: team_added_to_org
permission_denied no :: INVALID_SESSION_ID API_DISABLED_FOR_ORG INSUFFICIENT_ACCESS
permission_denied no :: INSUFFICIENT_ACCESS_OR_READONLY
permission_denied no :: INSUFFICIENT_ACCESS_ON_CROSS_REFERENCE_ENTITY API_CURRENTLY_DISABLED
permission_denied no :: STORAGE_LIMIT_EXCEEDED LOGIN_MUST_USE_SECURITY_TOKEN
permission_denied no :: INVALID_LOGIN PASSWORD_LOCKOUT LICENSE_LIMIT_EXCEEDED
permission_denied no :: AUTHENTICATION_FAILURE ACCOUNT_LOCKED
permission_denied no :: platform_api_key_expired testmode_charges_only account_invalid
permission_denied no :: livemode_mismatch secret_key_required
permission_denied no :: platform_account_required payouts_not_allowed
permission_denied no :: account_country_invalid_address balance_insufficient
permission_denied no :: tls_version_unsupported sensitive_data_access_expired country_unsupported
invalid_argument no :: channel_not_found user_not_found users_not_found message_not_found
invalid_argument no :: msg_too_long no_text invalid_arguments
invalid_argument no :: invalid_arg_name invalid_array_arg invalid_blocks invalid_blocks_format
invalid_argument no :: too_many_attachments file_not_found
invalid_argument no :: thread_not_found bad_timestamp time_in_past time_too_far invalid_name
invalid_argument no :: invalid_channel invalid_cursor no_item_specified
invalid_argument no :: resource_missing parameter_missing parameter_invalid_empty
invalid_argument no :: parameter_invalid_integer parameter_unknown
invalid_argument no :: parameter_invalid_string_blank parameter_invalid_string_empty
invalid_argument no :: parameters_exclusive invalid_number incorrect_number
invalid_argument no :: invalid_expiry_month invalid_expiry_year invalid_cvc email_invalid
invalid_argument no :: amount_too_small amount_too_large postal_code_invalid
invalid_argument no :: INVALID_PARAMETER_SYNTAX INVALID_STRING_LENGTH INVALID_RESOURCE_ID
invalid_argument no :: INVALID_CURRENCY_CODE DECIMAL_PRECISION AMOUNT_MISMATCH
invalid_argument no :: INVALID_STRING_MAX_LENGTH
invalid_argument no :: ACQ.TRADE_NOT_EXIST ORDERNOTEXIST isv.MOBILE_NUMBER_ILLEGAL
invalid_argument no :: isv.INVALID_PARAMETERS
invalid_argument no :: isv.TEMPLATE_MISSING_PARAMETERS isv.TEMPLATE_PARAMS_ILLEGAL
invalid_argument no :: isv.PARAM_LENGTH_LIMIT isv.INVALID_JSON_PARAM isv.MOBILE_COUNT_OVER_LIMIT
content_refused no :: isv.BLACK_KEY_CONTROL_LIMIT ACQ.EXIST_FORBIDDEN_WORD sensitive_word_hit
bug no :: isv.missing-method idempotency_key_mismatch XML_FORMAT_ERROR invalid_form_data
bug no :: missing_post_type invalid_post_type json_not_object REQUIRE_POST_METHOD
bug no :: NOT_UTF8 missing_charset superfluous_charset unknown_charset isv.invalid-method
bug no :: isv.invalid-format
transient maybe :: idempotency_key_in_use processing_error
transient maybe :: PREVIOUS_REQUEST_IN_PROGRESS TEMPORARY_ERROR
transient no :: rate_limit_lock lock_contention already_in_progress
transient maybe :: internal_error temporarily_unavailable temporary_failure api_connection_error
transient maybe :: TransientError INTERNAL_SERVICE_ERROR
transient yes :: USERPAYING
cancelled maybe :: task_cancelled_exception cancelled canceled run_cancelled request_cancelled
cancelled maybe :: CANCELLED_BY_USER client_closed_request
""",
    "code",
)

WEAK: Mapping[str, Verdict] = parse_codes(
    """
invalid_argument no :: InvalidParameterValue InvalidParameter PARAM_ERROR PARAM_INVALID
invalid_argument no :: invalid_request_error invalid_request INVALID_ARGUMENT BadRequest
invalid_argument no :: ValidationException
invalid_argument no :: BadRequestError ValidationError InvalidRequestException
invalid_argument no :: UNPROCESSABLE_ENTITY invalid_parameter_error Invalid InvalidInput Client
invalid_argument no :: soap:Client
invalid_argument no :: not_found_error not_found ResourceNotFoundException ResourceNotFound
invalid_argument no :: NotFoundException ClientError InvalidParameters FAILED_VALIDATION
invalid_argument no :: missing_resource custom unsupported_value
invalid_argument no :: resource_not_found_error OUT_OF_RANGE
business_rejected no :: FAILED_PRECONDITION Conflict ConflictException conflict_error
business_rejected no :: PRECONDITION_FAILED UNPROCESSABLE_BUSINESS BUSINESS_ERROR BizError
permission_denied no :: Forbidden
rate_limited no :: RESOURCE_EXHAUSTED TooManyRequests LimitExceededException tokens
rate_limited no :: rateLimitExceeded quotaExceeded LimitExceeded
in_doubt_timeout maybe :: request_timeout
transient maybe :: api_error
unknown maybe :: fatal_error INTERNAL InternalError UNKNOWN INTERNAL_SERVER_ERROR Server
unknown maybe :: soap:Server UnknownError
unknown maybe :: FailedOperation ModelErrorException ModelStreamErrorException SystemError
""",
    "general code",
)


def of_code(code: str) -> tuple[Verdict | None, bool]:
    """What a code stands for, and whether it decides by itself.

    A dotted code (``Throttling.User``) is looked up whole, then from its end, then from its start.
    """
    for key in _keys(code):
        if (found := FIRM.get(key)) is not None:
            return found, True
        if (found := WEAK.get(key)) is not None:
            return found, False
    return None, False


def _keys(code: str) -> list[str]:
    keys = [token(code)]
    if "." in code or ":" in code:
        parts = code.replace(":", ".").split(".")
        keys.append(token(parts[-1]))
        keys += [token(".".join(parts[:n])) for n in range(len(parts) - 1, 0, -1)]
    for suffix in ("exception", "error", "fault"):
        if keys[0].endswith(suffix) and len(keys[0]) > len(suffix) + 3:
            keys.append(keys[0].removesuffix(suffix))
    return keys
