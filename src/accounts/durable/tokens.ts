/**
 * An account's tokens. Part of its object, which is their only writer: so all of them are in memory too, and whether a
 * token holds is known without a read.
 *
 * A token is found by the SHA-256 of its text. How long that takes can tell a stranger something of a hash that he
 * computed himself, and nothing of the 256 random bits behind another one.
 *
 * Beyond the product: limits of a token's own. Difference from the product: nobody makes, widens or learns (by rolling)
 * a token that may do more, spend more or live longer than the one he holds; one with limits gives no other token models
 * to run. Deleting any token is free to who may write tokens.
 */
import type { FailureKey } from "../../core/errors.ts";
import type { Credential, Permission } from "../admission.ts";
import {
	permissionsToGive,
	type Token,
	type TokenCommand,
	type TokenLimits,
	type TokenResult,
} from "../token-command.ts";
import { groupsGranting, permissionsOf } from "../token-policy.ts";
import { TokenTable } from "./token-table.ts";

/** All are held in memory. */
const MAX_TOKENS = 1000;
/** An expired token is still listed for so long. */
const EXPIRED_KEPT_MS = 30 * 24 * 60 * 60 * 1000;
/** `last_used_on` of a token is written at most so often. */
const USE_WRITTEN_MS = 60_000;

interface HeldToken {
	token: Token;
	hash: string;
	permissions: ReadonlySet<Permission>;
	/** When `lastUsedOn` was last written. */
	useWrittenOn: number;
}

export type Refusal = { ok: false; failure: FailureKey; description?: string };
export type Checked = { ok: true; id: string; limits: TokenLimits } | Refusal;

export class Tokens {
	readonly #table: TokenTable;
	readonly #clock: () => number;
	/** In the order of issue. */
	readonly #entries = new Map<string, HeldToken>();
	readonly #byHash = new Map<string, HeldToken>();

	/** `clock`: the account's, which never goes back: a token that has expired stays so. */
	constructor(sql: SqlStorage, clock: () => number) {
		this.#table = new TokenTable(sql);
		this.#clock = clock;
		for (const [hash, token] of this.#table.all()) this.#hold(hash, token);
	}

	/** Whether the token with this hash may do this now. Notes the use. */
	check(hash: string, permission: Permission): Checked {
		const found = this.#find(hash);
		if (!found.ok) return found;
		const { token, permissions } = found.entry;
		if (!permissions.has(permission)) return lacks(permission);
		this.#use(found.entry);
		return { ok: true, id: token.id, limits: token.limits };
	}

	run(command: TokenCommand): TokenResult {
		switch (command.kind) {
			case "verify":
				return this.#verify(command.hash);
			case "get":
				return this.#asReader(command.maker, () => this.#one(command.id, only));
			case "list":
				return this.#asReader(command.maker, () => this.#list(command));
			case "create":
				return this.#asWriter(command.maker, (maker) => this.#create(command, maker));
			case "update":
				return this.#asWriter(command.maker, (maker) =>
					this.#one(command.id, (entry) => this.#update(entry, command.fields, maker)),
				);
			case "roll":
				return this.#asWriter(command.maker, (maker) =>
					this.#one(command.id, (entry) => this.#roll(entry, command.hash, maker)),
				);
			case "delete":
				return this.#asWriter(command.maker, () => this.#one(command.id, (entry) => this.#delete(entry)));
			default:
				return command satisfies never;
		}
	}

	#verify(hash: string): TokenResult {
		const found = this.#find(hash);
		if (!found.ok) return found;
		this.#use(found.entry);
		return only(found.entry);
	}

	#list({ page, perPage, direction, includeExpired }: Extract<TokenCommand, { kind: "list" }>): TokenResult {
		const now = this.#clock();
		const tokens = [...this.#entries.values()]
			.map(({ token }) => token)
			.filter((token) => includeExpired || !hasExpired(token, now));
		if (direction === "desc") tokens.reverse();
		const start = (page - 1) * perPage;
		return { ok: true, tokens: tokens.slice(start, start + perPage), total: tokens.length };
	}

	#create(
		{ id, hash, fields }: Extract<TokenCommand, { kind: "create" }>,
		maker: HeldToken | undefined,
	): TokenResult {
		const now = this.#clock();
		this.#sweep(now);
		if (this.#entries.size >= MAX_TOKENS)
			return refuse("invalidRequest", `an account has at most ${MAX_TOKENS} tokens`);
		const token: Token = { ...fields, id, issuedOn: now, modifiedOn: now };
		const excess = excessOver(maker, token);
		if (excess) return excess;
		this.#table.write(hash, token);
		return only(this.#hold(hash, token));
	}

	#update(
		{ hash, token }: HeldToken,
		fields: Extract<TokenCommand, { kind: "update" }>["fields"],
		maker: HeldToken | undefined,
	): TokenResult {
		const { disabled, id, issuedOn, lastUsedOn, limits } = token;
		const changed: Token = {
			disabled,
			limits,
			...fields,
			id,
			issuedOn,
			modifiedOn: this.#clock(),
			...(lastUsedOn !== undefined && { lastUsedOn }),
		};
		const excess = excessOver(maker, changed);
		if (excess) return excess;
		this.#table.write(hash, changed);
		return only(this.#hold(hash, changed));
	}

	/** The text that was valid until now is not any more. */
	#roll({ hash: old, token }: HeldToken, hash: string, maker: HeldToken | undefined): TokenResult {
		// Who rolls a token holds it afterwards.
		const excess = excessOver(maker, token);
		if (excess) return excess;
		const rolled = { ...token, modifiedOn: this.#clock() };
		this.#table.write(hash, rolled);
		this.#byHash.delete(old);
		return only(this.#hold(hash, rolled));
	}

	#delete(entry: HeldToken): TokenResult {
		this.#table.delete(entry.token.id);
		this.#drop(entry);
		return only(entry);
	}

	#sweep(now: number): void {
		for (const entry of [...this.#entries.values()])
			if (hasExpired(entry.token, now - EXPIRED_KEPT_MS)) this.#delete(entry);
	}

	#asReader(maker: Credential, act: () => TokenResult): TokenResult {
		const found = this.#maker(maker, "tokens-read");
		return found.ok ? act() : found;
	}

	#asWriter(maker: Credential, act: (maker: HeldToken | undefined) => TokenResult): TokenResult {
		const found = this.#maker(maker, "tokens-write");
		return found.ok ? act(found.entry) : found;
	}

	/** No entry for the operator, who may do everything. */
	#maker(credential: Credential, permission: Permission): { ok: true; entry?: HeldToken } | Refusal {
		if (credential.kind === "operator") return { ok: true };
		const found = this.#find(credential.hash);
		if (found.ok && !found.entry.permissions.has(permission)) return lacks(permission);
		return found;
	}

	#one(id: string, act: (entry: HeldToken) => TokenResult): TokenResult {
		const entry = this.#entries.get(id);
		return entry ? act(entry) : { ok: false, failure: "notFound", description: "Token not found" };
	}

	/** A token that may be used now. Why not is told to who has its text, and to nobody else. */
	#find(hash: string): { ok: true; entry: HeldToken } | Refusal {
		const entry = this.#byHash.get(hash);
		if (!entry) return { ok: false, failure: "authentication" };
		const now = this.#clock();
		const { disabled, expiresOn, notBefore } = entry.token;
		if (disabled) return unusable("is disabled");
		if (expiresOn !== undefined && expiresOn <= now) return unusable("has expired");
		if (notBefore !== undefined && notBefore > now) return unusable("is not valid yet");
		return { ok: true, entry };
	}

	/** In memory, and now and then on disk: what an eviction loses is less than a minute. */
	#use(entry: HeldToken): void {
		const now = Math.max(this.#clock(), entry.token.lastUsedOn ?? 0);
		entry.token.lastUsedOn = now;
		if (now - entry.useWrittenOn < USE_WRITTEN_MS) return;
		entry.useWrittenOn = now;
		this.#table.writeUse(entry.token.id, now);
	}

	#hold(hash: string, token: Token): HeldToken {
		const useWrittenOn = token.lastUsedOn ?? Number.NEGATIVE_INFINITY;
		const entry = { token, hash, permissions: permissionsOf(token.policies), useWrittenOn };
		this.#entries.set(token.id, entry);
		this.#byHash.set(hash, entry);
		return entry;
	}

	#drop({ hash, token }: HeldToken): void {
		this.#entries.delete(token.id);
		this.#byHash.delete(hash);
	}
}

/** A copy: what is answered must not change when the token does. */
const only = ({ token }: HeldToken): TokenResult => ({ ok: true, tokens: [{ ...token }], total: 1 });

const hasExpired = ({ expiresOn }: Token, now: number): boolean =>
	expiresOn !== undefined && expiresOn <= now;

/** What a token would have beyond its maker; nothing is beyond the operator. */
function excessOver(maker: HeldToken | undefined, token: Token): Refusal | undefined {
	if (!maker) return undefined;
	const given = [...permissionsOf(token.policies)];
	const beyond = given.filter((permission) => !maker.permissions.has(permission));
	if (beyond.length > 0)
		return refuse("forbidden", `a token cannot give permissions that it does not have: ${beyond.join(", ")}`);
	const givable = permissionsToGive(maker.token);
	if (token.id !== maker.token.id && given.some((permission) => !givable.has(permission)))
		return refuse("forbidden", "a token with limits of its own cannot let another one run models");
	const { expiresOn, limits } = maker.token;
	if (isLooser(token.limits.dailyMicroNeurons, limits.dailyMicroNeurons))
		return refuse("forbidden", "a token cannot give a higher limits.daily_neurons than its own");
	if (isLooser(token.limits.monthlyMicroNeurons, limits.monthlyMicroNeurons))
		return refuse("forbidden", "a token cannot give a higher limits.monthly_neurons than its own");
	if (isLooser(token.limits.requestsPerMinute, limits.requestsPerMinute))
		return refuse("forbidden", "a token cannot give a higher limits.requests_per_minute than its own");
	if (isLooser(token.expiresOn, expiresOn))
		return refuse("forbidden", "a token cannot make one that expires later than itself");
	return undefined;
}

/** Absent is without end. */
const isLooser = (value = Number.POSITIVE_INFINITY, bound = Number.POSITIVE_INFINITY): boolean =>
	value > bound;

const refuse = (failure: FailureKey, why: string): Refusal => ({
	ok: false,
	failure,
	description: failure === "forbidden" ? `Authentication error: ${why}` : why,
});

const unusable = (why: string): Refusal => ({
	ok: false,
	failure: "authentication",
	description: `Authentication error: the token ${why}`,
});

const lacks = (permission: Permission): Refusal =>
	refuse("forbidden", `the token needs the permission group ${oneOf(groupsGranting(permission))}`);

const oneOf = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(" or ");
