/** Headers that may contain a token. */
import {
	ANTHROPIC_KEY,
	AUTHORIZATION,
	AZURE_KEY,
	GATEWAY_AUTHORIZATION,
	GEMINI_KEYS,
} from "../../src/http/credentials.ts";

const LOCATIONS = [GATEWAY_AUTHORIZATION, AUTHORIZATION, ANTHROPIC_KEY, AZURE_KEY, ...GEMINI_KEYS];
export const KEY_HEADERS = LOCATIONS.flatMap((location) => (location.in === "header" ? location.name : []));
/** One of the subprotocols that a websocket offers may contain a token. */
export const PROTOCOLS = "sec-websocket-protocol";
