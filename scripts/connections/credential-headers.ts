/** Headers that may contain a token (src/http/credentials.ts). */
export const KEY_HEADERS = [
	"cf-aig-authorization",
	"authorization",
	"x-api-key",
	"api-key",
	"x-goog-api-key",
];
/** One of the subprotocols that a websocket offers may contain a token. */
export const PROTOCOLS = "sec-websocket-protocol";
