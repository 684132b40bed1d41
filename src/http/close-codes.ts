/** The codes of close frames that the gateway sends (RFC 6455, 7.4.1). docs/errors.md says what the caller of each can do. */

/** The session has ended. */
export const NORMAL = 1000;
/** A frame that cannot be read. */
export const PROTOCOL_ERROR = 1002;
/** A mistake of the caller, or its token is refused. */
export const POLICY_VIOLATION = 1008;
/** A frame or a message that is too large, or has too many parts. */
export const TOO_LARGE = 1009;
/** A failure of the gateway or of the engine. */
export const INTERNAL_ERROR = 1011;
/** There is no room now. */
export const TRY_AGAIN_LATER = 1013;
