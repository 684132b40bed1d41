/**
 * An account's tokens. The account's object is their only writer, so all of them are also in memory, and a token is verified
 * without a read.
 *
 * A token is found by the SHA-256 of its text. The timing of the lookup may reveal something about the hash that the caller
 * sent, but nothing about the 256 random bits of another token.
 *
 * Beyond the product: a token may have limits of its own. Difference from the product: a token cannot create, update or roll a
 * token with more permissions, higher limits or a later expiry than its own, and a token with limits cannot create tokens that
 * run models. Every token with the permission to write tokens may delete any token.
 */
import { notFound } from "../../core/not-found.ts";
import { present } from "../../core/present.ts";
import type { Credential, Permission } from "../admission.ts";
import type { BoundGateway } from "../bound-gateway.ts";
import { hasBudget, type Token, type TokenCommand, type TokenResult } from "../token-command.ts";
import { groupsGranting, permissionsOf } from "../token-policy.ts";
import { accountOfToken } from "../token-text.ts";
import type { NamedToken, VerifiedToken } from "./decision.ts";
import type { AccountRows, TableOptions } from "./row-table.ts";
import { excessOver, type Maker, type Refusal, refuse } from "./token-excess.ts";
import { TokenTable } from "./token-table.ts";

/** All are held in memory. */
const MAX_TOKENS = 1000;
/** How long an expired token is still listed. */
const EXPIRED_KEPT_MS = 30 * 24 * 60 * 60 * 1000;
/** The minimum time between two writes of a token's `last_used_on`. */
const USE_WRITTEN_MS = 60_000;

interface HeldToken {
	token: Token;
	hash: string;
	permissions: ReadonlySet<Permission>;
	/** When `lastUsedOn` was last written. */
	useWrittenOn: number;
}

/** A caller may have sent the value of a token, which no message repeats. */
function tokenNotFound(id: string): TokenResult {
	const shownId = accountOfToken(id) === undefined ? id : "glt_…";
	const { description } = notFound("Token", shownId, { cure: "; GET …/tokens lists the ids" });
	return { ok: false, failure: "notFound", description };
}

export type { Refusal } from "./token-excess.ts";

type TokenCheck = ({ ok: true } & VerifiedToken) | Refusal;

/** The account's, which does not go back, so an expired token stays expired. */
interface TokenClock {
	now(): number;
}

export class Tokens {
	readonly #table: TokenTable;
	readonly #clock: TokenClock;
	/** By id, in the order of issue. */
	readonly #tokens = new Map<string, HeldToken>();
	readonly #byHash = new Map<string, HeldToken>();

	constructor(rows: AccountRows, clock: TokenClock, { isNew = false }: TableOptions = {}) {
		this.#table = new TokenTable(rows);
		this.#clock = clock;
		if (isNew) return;
		for (const [hash, token] of this.#table.all()) this.#add(hash, token);
	}

	/** Verifies the token with this hash and its permission. Records the use. */
	check(hash: string, permission: Permission): TokenCheck {
		const found = this.#find(hash);
		if (!found.ok) return found;
		const { token, permissions } = found.held;
		if (!permissions.has(permission)) return lacks(permission);
		this.#recordUse(found.held);
		const { id, expiresOn, gateway, limits } = token;
		return { ok: true, id, limits, ...present({ expiresOn, gateway }) };
	}

	/** The tokens with a budget that have not expired. `undefined`: the caller may not list tokens. */
	withBudget(caller: Credential): NamedToken[] | undefined {
		if (!this.#maker(caller, "tokens-read").ok) return undefined;
		const now = this.#clock.now();
		return [...this.#tokens.values()]
			.map(({ token }) => token)
			.filter((token) => hasBudget(token.limits) && !hasExpired(token, now))
			.map(({ id, limits, name }) => ({ id, limits, name }));
	}

	/** `bound`: the gateway that the account binds. */
	run(command: TokenCommand, bound?: BoundGateway): TokenResult {
		switch (command.kind) {
			case "verify":
				return this.#verify(command.hash);
			case "get":
				return this.#asReader(command.maker, () => this.#one(command.id, only));
			case "list":
				return this.#asReader(command.maker, () => this.#list(command));
			case "create":
				return this.#asWriter(command.maker, bound, (maker) => this.#create(command, maker));
			case "update":
				return this.#asWriter(command.maker, bound, (maker) =>
					this.#one(command.id, (held) => this.#update(held, command.fields, maker)),
				);
			case "roll":
				return this.#asWriter(command.maker, bound, (maker) =>
					this.#one(command.id, (held) => this.#roll(held, command.hash, maker)),
				);
			case "delete":
				return this.#asWriter(command.maker, bound, () =>
					this.#one(command.id, (held) => this.#delete(held)),
				);
			default:
				return command satisfies never;
		}
	}

	#verify(hash: string): TokenResult {
		const found = this.#find(hash);
		if (!found.ok) return found;
		this.#recordUse(found.held);
		return only(found.held);
	}

	#list({ page, perPage, direction, includeExpired }: Extract<TokenCommand, { kind: "list" }>): TokenResult {
		const now = this.#clock.now();
		const tokens = [...this.#tokens.values()]
			.map(({ token }) => token)
			.filter((token) => includeExpired || !hasExpired(token, now));
		if (direction === "desc") tokens.reverse();
		const start = (page - 1) * perPage;
		return { ok: true, tokens: tokens.slice(start, start + perPage), total: tokens.length };
	}

	#create(
		{ id, hash, fields }: Extract<TokenCommand, { kind: "create" }>,
		maker: Maker | undefined,
	): TokenResult {
		const now = this.#clock.now();
		this.#sweep(now);
		if (this.#tokens.size >= MAX_TOKENS)
			return refuse("invalidRequest", `an account has at most ${MAX_TOKENS} tokens`);
		const token: Token = { ...fields, id, issuedOn: now, modifiedOn: now };
		const excess = excessOver(maker, token);
		if (excess) return excess;
		this.#table.write(hash, token);
		return only(this.#add(hash, token));
	}

	#update(
		{ hash, token }: HeldToken,
		fields: Extract<TokenCommand, { kind: "update" }>["fields"],
		maker: Maker | undefined,
	): TokenResult {
		const { disabled, id, issuedOn, lastUsedOn, limits } = token;
		const { gateway = token.gateway ?? null, ...others } = fields;
		const changed: Token = {
			disabled,
			limits,
			...(gateway && { gateway }),
			...others,
			id,
			issuedOn,
			modifiedOn: this.#clock.now(),
			...(lastUsedOn !== undefined && { lastUsedOn }),
		};
		const excess = excessOver(maker, changed);
		if (excess) return excess;
		this.#table.write(hash, changed);
		return only(this.#add(hash, changed));
	}

	/** The previous text is no longer valid. */
	#roll({ hash: old, token }: HeldToken, hash: string, maker: Maker | undefined): TokenResult {
		// The caller receives the new text, so the token must not exceed the caller's.
		const excess = excessOver(maker, token);
		if (excess) return excess;
		const rolled = { ...token, modifiedOn: this.#clock.now() };
		this.#table.write(hash, rolled);
		this.#byHash.delete(old);
		return only(this.#add(hash, rolled));
	}

	#delete(held: HeldToken): TokenResult {
		this.#table.delete(held.token.id);
		this.#remove(held);
		return only(held);
	}

	#sweep(now: number): void {
		for (const held of [...this.#tokens.values()])
			if (hasExpired(held.token, now - EXPIRED_KEPT_MS)) this.#delete(held);
	}

	#asReader(maker: Credential, act: () => TokenResult): TokenResult {
		const found = this.#maker(maker, "tokens-read");
		return found.ok ? act() : found;
	}

	#asWriter(
		credential: Credential,
		bound: BoundGateway | undefined,
		act: (maker: Maker | undefined) => TokenResult,
	): TokenResult {
		const found = this.#maker(credential, "tokens-write");
		if (!found.ok) return found;
		return act(found.held && { ...found.held, bound });
	}

	/** Returns no token for the operator, who has all permissions. */
	#maker(credential: Credential, permission: Permission): { ok: true; held?: HeldToken } | Refusal {
		if (credential.kind === "operator") return { ok: true };
		const found = this.#find(credential.hash);
		if (found.ok && !found.held.permissions.has(permission)) return lacks(permission);
		return found;
	}

	#one(id: string, act: (held: HeldToken) => TokenResult): TokenResult {
		const held = this.#tokens.get(id);
		return held ? act(held) : tokenNotFound(id);
	}

	/** Finds a token that may be used now. Only a caller with the token's text learns why it may not. */
	#find(hash: string): { ok: true; held: HeldToken } | Refusal {
		const held = this.#byHash.get(hash);
		if (!held) return { ok: false, failure: "authentication" };
		const now = this.#clock.now();
		const { disabled, expiresOn, notBefore } = held.token;
		if (disabled) return unusable("is disabled");
		if (expiresOn !== undefined && expiresOn <= now) return unusable("has expired");
		if (notBefore !== undefined && notBefore > now) return unusable("is not valid yet");
		return { ok: true, held };
	}

	/** Records the use in memory, and at most once a minute on the disk, so an eviction loses less than a minute. */
	#recordUse(held: HeldToken): void {
		const now = Math.max(this.#clock.now(), held.token.lastUsedOn ?? 0);
		held.token.lastUsedOn = now;
		if (now - held.useWrittenOn < USE_WRITTEN_MS) return;
		held.useWrittenOn = now;
		this.#table.writeUse(held.token.id, now);
	}

	#add(hash: string, token: Token): HeldToken {
		const useWrittenOn = token.lastUsedOn ?? Number.NEGATIVE_INFINITY;
		const held = { token, hash, permissions: permissionsOf(token.policies), useWrittenOn };
		this.#tokens.set(token.id, held);
		this.#byHash.set(hash, held);
		return held;
	}

	#remove({ hash, token }: HeldToken): void {
		this.#tokens.delete(token.id);
		this.#byHash.delete(hash);
	}
}

/** A copy, because the result must not change with the token. */
const only = ({ token }: HeldToken): TokenResult => ({ ok: true, tokens: [{ ...token }], total: 1 });

const hasExpired = ({ expiresOn }: Token, now: number): boolean =>
	expiresOn !== undefined && expiresOn <= now;

const unusable = (reason: string): Refusal => ({
	ok: false,
	failure: "authentication",
	description: `Authentication error: the token ${reason}`,
});

const lacks = (permission: Permission): Refusal =>
	refuse("forbidden", `the token needs the permission group ${oneOf(groupsGranting(permission))}`);

const oneOf = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(" or ");
