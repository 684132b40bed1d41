/** The codes of close frames that the gateway sends (RFC 6455, 7.4.1). docs/errors.md says what the caller of each can do. */
export const CLOSE = {
	/** The session has ended. */
	normal: 1000,
	/** A frame that cannot be read. */
	protocolError: 1002,
	/** A mistake of the caller, or its token is refused. */
	policyViolation: 1008,
	/** A frame or a message that is too large, or has too many parts. */
	tooLarge: 1009,
	/** A failure of the gateway or of the engine. */
	internalError: 1011,
	/** There is no room now. */
	tryAgainLater: 1013,
} as const;
