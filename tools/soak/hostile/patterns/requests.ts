/** Requests and sizes that patterns have in common. */
import type { Attacker } from "../attacker.ts";

export const KILOBYTE = 1_000;
export const MEGABYTE = 1_000_000;
/** How long a connection is held before the attacker begins again. */
export const HOLD_MS = 20_000;
/** Milliseconds between pieces of a flood. */
export const FLOOD = { bytesMs: 5, framesMs: 2 };

/** Texts of one letter, made once for each size. */
const paddings = new Map<number, string>();

export function padding(length: number): string {
	const made = paddings.get(length) ?? "a".repeat(length);
	paddings.set(length, made);
	return made;
}

/** Behaviours of the hostile engine: each is a model. */
export type Behaviour = "quick" | "endless" | "silent" | "slow" | "large" | "bomb" | "busy" | "wrong";

export const chat = (content = "Hi", { model = "quick" as Behaviour, stream = false, ...others } = {}) => ({
	model: `hostile/${model}`,
	messages: [{ role: "user", content }],
	max_tokens: 64,
	stream,
	...others,
});

/** A text with the form of a token. */
export const inventedToken = ({ number }: Attacker, account = "invented"): string =>
	`glt_${account}_${String(number).padStart(43, "x")}`;

export const api = ({ account }: Attacker): string => `/client/v4/accounts/${account}/ai`;
export const gateway = ({ account }: Attacker, name: string): string => `/v1/${account}/${name}`;
