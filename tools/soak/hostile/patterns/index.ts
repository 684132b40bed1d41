/** All patterns of the hostile population. */
import type { Pattern } from "../attacker.ts";
import { BODY_PATTERNS } from "./bodies.ts";
import { CONNECTION_PATTERNS } from "./connections.ts";
import { ROOM_PATTERNS } from "./rooms.ts";
import { SOCKET_PATTERNS } from "./sockets.ts";
import { STREAM_PATTERNS } from "./streams.ts";

export const PATTERNS: readonly Pattern[] = [
	...CONNECTION_PATTERNS,
	...STREAM_PATTERNS,
	...BODY_PATTERNS,
	...ROOM_PATTERNS,
	...SOCKET_PATTERNS,
];
