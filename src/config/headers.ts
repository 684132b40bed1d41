/** Secrets by name, and the headers that a backend or a route adds to its requests. */
import * as z from "zod";
import { didYouMean } from "../core/did-you-mean.ts";
import { HOP_BY_HOP } from "../core/hop-by-hop.ts";
import { kindOf } from "../schemas/explain.ts";

export type Env = Readonly<Record<string, unknown>>;

/** Headers that the runtime or a backend sets, and headers of a single connection. */
const RESERVED: ReadonlySet<string> = new Set([
	...HOP_BY_HOP,
	"accept-encoding",
	"content-encoding",
	"content-length",
	"content-type",
	"expect",
	"host",
]);

/** Headers of Cloudflare that clients send: Access service tokens, and AI Gateway as an engine. */
const ALLOWED_CF = /^cf-(?:access-client-(?:id|secret)|aig-.+)$/;

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;
/** Characters that `fetch` accepts: the tab, and Latin-1 without control characters. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** A usual name of a variable. Other text may be the key itself, which messages must not contain. */
const VARIABLE_NAME = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/;
const MAX_NAME_CHARACTERS = 64;

/** The text of a secret. Adds the mistake in its name to `context`. */
function readSecret(name: unknown, env: Env, context: z.RefinementCtx): string {
	const refuse = (mistake: string) => {
		context.addIssue(mistake);
		return z.NEVER;
	};
	if (typeof name !== "string") return refuse(`expected the name of a secret, found ${kindOf(name)}`);
	const text = textOf(env[name]);
	if (text === "") {
		const guess = didYouMean(
			name,
			Object.keys(env).filter((other) => textOf(env[other]) !== ""),
		);
		const isName = VARIABLE_NAME.test(name) && name.length <= MAX_NAME_CHARACTERS;
		const found = isName ? `${name}, which is not set` : "text that names no secret";
		const advice = "; set it in .dev.vars, in the environment or with `wrangler secret put`";
		return refuse(`expected the name of a secret that is set, found ${found}${guess || advice}`);
	}
	return VALUE.test(text)
		? text
		: refuse("expected a secret that fits into a header, found one that does not");
}

/** A secret that was set through a pipe often ends with a line break. */
const textOf = (value: unknown): string => (typeof value === "string" ? value.trim() : "");

/** Converts the name of a secret to its text. */
export const secret = (env: Env) => z.unknown().transform((name, context) => readSecret(name, env, context));

const HeaderName = z.string().superRefine((name, context) => {
	const lower = name.toLowerCase();
	if (!TOKEN.test(name)) context.addIssue("expected the name of a header, found another text");
	else if (RESERVED.has(lower))
		context.addIssue("expected a header that is free to set, found a reserved one");
	else if (lower.startsWith("cf-") && !ALLOWED_CF.test(lower))
		context.addIssue("expected a header that is free to set, found one of Cloudflare's");
});

const HeaderSecret = z.strictObject({ secret: z.unknown() });

const headerValue = (env: Env) =>
	z.unknown().transform((value, context) => {
		if (typeof value === "string" && VALUE.test(value)) return value;
		const named = HeaderSecret.safeParse(value);
		if (!named.success) {
			const found = typeof value === "string" ? "text that no header can hold" : kindOf(value);
			context.addIssue(`expected text or {"secret": its name}, found ${found}`);
			return z.NEVER;
		}
		return readSecret(named.data.secret, env, context);
	});

/** Header values by lower-case name. A value is a text or the name of a secret. */
export const headers = (env: Env) =>
	z
		.record(HeaderName, headerValue(env))
		.transform((record) =>
			Object.fromEntries(Object.entries(record).map(([name, value]) => [name.toLowerCase(), value])),
		);
