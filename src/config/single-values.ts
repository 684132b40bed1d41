/** Settings with a single value, such as a number or an address. An empty text is no value. */
import { expectedName, kindOf } from "../schemas/explain.ts";
import type { Env } from "./headers.ts";
import type { Problems } from "./problems.ts";

export function readFlag(name: string, env: Env, problems: Problems): boolean {
	const value = env[name];
	if (value === true || value === "true") return true;
	if (value !== undefined && value !== "" && value !== false && value !== "false")
		problems.add([name], expectedName(["true", "false"], value));
	return false;
}

export function readPublicUrl(value: unknown, problems: Problems): string | undefined {
	if (value === undefined || value === "") return undefined;
	const url = typeof value === "string" ? URL.parse(value) : null;
	if (url && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin;
	problems.add(["PUBLIC_URL"], "expected an origin such as https://ai.example.com, found another value");
	return undefined;
}

const HOST_NAME = /^[\w.-]+$/;

/** Names, separated by commas. */
export function readHosts(value: unknown = "", problems: Problems): string[] {
	const names = typeof value === "string" ? value.split(",").map((name) => name.trim().toLowerCase()) : [""];
	if (value !== "" && !names.every((name) => HOST_NAME.test(name)))
		problems.add(
			["ALLOWED_HOSTS"],
			'expected names of hosts such as "gateway.lan,ai.lan", found another value',
		);
	return names.filter((name) => name !== "");
}

const LEDGERS = ["exact", "leased"];

/** Whether the account's object admits every request. */
export function readLedger(value: unknown = "leased", problems: Problems): boolean {
	if (value === "" || value === "leased") return false;
	if (value !== "exact") problems.add(["LEDGER"], expectedName(LEDGERS, value));
	return value === "exact";
}

export function readCount(name: string, env: Env, problems: Problems): number | undefined {
	const value = env[name];
	if (value === undefined || value === "") return undefined;
	const count = Number(value);
	if (Number.isInteger(count) && count > 0) return count;
	problems.add([name], `expected a whole number from 1, found ${numberOrKind(value)}`);
	return undefined;
}

/** In the environment a number is a text. */
const numberOrKind = (value: unknown): string =>
	/^-?[\d.]{1,20}$/.test(String(value)) ? String(value) : kindOf(value);

/** The most objects that all accounts may have together. */
const MAX_SHARDS = 256;

export function readShards(value: unknown, problems: Problems): number | undefined {
	if (value === undefined || value === "") return undefined;
	const shards = Number(value);
	if (Number.isInteger(shards) && shards >= 0 && shards <= MAX_SHARDS) return shards;
	problems.add(["SHARDS"], `expected a whole number from 0 to ${MAX_SHARDS}, found ${numberOrKind(value)}`);
	return undefined;
}

/** Shorter tokens can be guessed. */
const MIN_ADMIN_TOKEN_CHARACTERS = 32;

/** Messages never contain the value. */
export function readAdminToken(value: unknown, problems: Problems): string | undefined {
	if (value === undefined || value === "") return undefined;
	const text = typeof value === "string" ? value.trim() : "";
	if (text.length >= MIN_ADMIN_TOKEN_CHARACTERS) return text;
	const found = typeof value === "string" ? "a shorter one" : kindOf(value);
	problems.add(
		["ADMIN_TOKEN"],
		`expected a secret of ${MIN_ADMIN_TOKEN_CHARACTERS} characters or more, found ${found}`,
	);
	return undefined;
}
