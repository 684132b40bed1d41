/** `timeouts` of a backend, a route or a target. A target's value has precedence over the route's, and that over the backend's. */
import * as z from "zod";
import type { Timeouts } from "../backends/backend.ts";
import { camelCased } from "./camel-case.ts";

export const DEFAULT_TIMEOUTS: Timeouts = { headerMs: 60_000, idleMs: 60_000, totalMs: 600_000 };
const MAX_MS = 24 * 60 * 60 * 1000;

export const milliseconds = z.int().min(1).max(MAX_MS);

export const SetTimeouts = z
	.strictObject({
		header_ms: milliseconds.optional(),
		first_token_ms: milliseconds.optional(),
		idle_ms: milliseconds.optional(),
		total_ms: milliseconds.optional(),
	})
	.transform((set): Partial<Timeouts> => camelCased(set));
