/** Headers of one connection (RFC 9110, 7.6.1), which are never passed on. */
export const HOP_BY_HOP = [
	"connection",
	"keep-alive",
	"proxy-authenticate",
	"proxy-authorization",
	"proxy-connection",
	"te",
	"trailer",
	"transfer-encoding",
	"upgrade",
] as const;
