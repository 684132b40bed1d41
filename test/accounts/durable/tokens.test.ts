import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { Permission } from "../../../src/accounts/admission.ts";
import { Tokens } from "../../../src/accounts/durable/tokens.ts";
import {
	statusOf,
	type Token,
	type TokenCommand,
	type TokenFields,
	type TokenResult,
} from "../../../src/accounts/token-command.ts";
import { PERMISSION_GROUPS, permissionsOf, type TokenPolicy } from "../../../src/accounts/token-policy.ts";
import { accountOfToken, digest, hexadecimal, newTokenText } from "../../../src/accounts/token-text.ts";

const NOW = Date.parse("2026-11-21T12:00:00Z");
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const OPERATOR = { kind: "operator" } as const;

const policy = (effect: "allow" | "deny", ...names: string[]): TokenPolicy => ({
	id: "0".repeat(32),
	effect,
	permission_groups: names.map((name) => {
		const group = PERMISSION_GROUPS.find((known) => known.name === name);
		if (!group) throw new Error(`no group ${name}`);
		return { id: group.id, name };
	}),
	resources: { "com.cloudflare.api.account.local": "*" },
});

const fields = (...groups: string[]): TokenFields => ({
	name: "a token",
	policies: [policy("allow", ...groups)],
	disabled: false,
	limits: {},
});

interface World {
	tokens: Tokens;
	/** The same tokens after an eviction. */
	again(): Tokens;
	clock: { now: number };
	sql: SqlStorage;
	/** Creates a token as the operator. Its hash is its id. */
	make(id: string, more: Partial<TokenFields>, ...groups: string[]): Token;
}

let worlds = 0;

/** Runs in a new object. */
const within = (test: (world: World) => void): Promise<void> =>
	runInDurableObject(env.ACCOUNT.getByName(`tokens-${worlds++}`), (_, { storage: { sql } }) => {
		const clock = { now: NOW };
		const open = () => new Tokens({ sql, account: 1, tables: new Map() }, { now: () => clock.now });
		const tokens = open();
		const make: World["make"] = (id, more, ...groups) =>
			first(
				tokens.run({
					kind: "create",
					maker: OPERATOR,
					id,
					hash: id,
					fields: { ...fields(...groups), ...more },
				}),
			);
		test({ tokens, again: open, clock, sql, make });
	});

function first(result: TokenResult): Token {
	if (!result.ok) throw new Error(`${result.failure}: ${result.description}`);
	const [token] = result.tokens;
	if (!token) throw new Error("no token");
	return token;
}

const token = (hash: string) => ({ kind: "token", hash }) as const;
const refusedAs = (failure: string, description?: string) => ({
	ok: false,
	failure,
	...(description !== undefined && { description }),
});
const WRITE = "Account API Tokens Write";

describe("the text of a token", () => {
	it.each(["local", "a_b", "a_", "_", "-".repeat(64)])("names its account, %s", (account) => {
		const text = newTokenText(account);
		expect(text).toMatch(/^glt_.+_[0-9A-Za-z]{43}$/);
		expect(accountOfToken(text)).toBe(account);
	});

	it("is base 62 of its bytes, always 43 digits", () => {
		expect(newTokenText("a", new Uint8Array(32))).toBe(`glt_a_${"0".repeat(43)}`);
		const sixtyThree = new Uint8Array(32);
		sixtyThree[31] = 63;
		expect(newTokenText("a", sixtyThree)).toBe(`glt_a_${"0".repeat(41)}11`);
		expect(newTokenText("a", new Uint8Array(32).fill(255))).toMatch(/^glt_a_[0-9A-Za-z]{43}$/);
	});

	it.each([
		"",
		"glt_a_short",
		`glt__${"0".repeat(43)}`,
		`glt_a b_${"0".repeat(43)}`,
		`x${newTokenText("a")}`,
	])("is not any text: %j", (text) => {
		expect(accountOfToken(text)).toBeUndefined();
	});

	it("is hashed with SHA-256", async () => {
		expect(hexadecimal(await digest("abc"))).toBe(
			"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
		);
	});
});

describe("policies", () => {
	it.each<[string, Permission[]]>([
		["Workers AI Read", ["read", "run"]],
		["Workers AI Write", ["read", "run", "write", "gateways-write"]],
		["Workers AI Run", ["run"]],
		["Workers AI Metadata Read", ["read"]],
		["Account API Tokens Read", ["tokens-read"]],
		["Account API Tokens Write", ["tokens-read", "tokens-write"]],
	])("%s", (name, permissions) => {
		expect([...permissionsOf([policy("allow", name)])]).toEqual(permissions);
	});

	it.each([
		["1799edaae5db489294430e20d9b519e0", ["vectorize-read"]],
		["64156ba5be47441096c83c7fc17c488b", ["vectorize-read", "vectorize-write"]],
		// Of tokens that an earlier version has stored.
		["6f6d2c0f9b4b4d1a8f0f3c1d7a5e9b21", ["vectorize-read"]],
		["0d3f1b7a2c8e4f5b9a6d4e2f8c1b7d53", ["vectorize-read", "vectorize-write"]],
	])("are those of Vectorize for the group %s", (id, permissions) => {
		const groups = [{ id, name: "" }];
		expect([...permissionsOf([{ ...policy("allow"), permission_groups: groups }])]).toEqual(permissions);
	});

	it("of a group that does not exist grant nothing", () => {
		const unknown = { id: "f".repeat(32), name: "Unknown" };
		expect([...permissionsOf([{ ...policy("allow"), permission_groups: [unknown] }])]).toEqual([]);
	});

	it("denies what any policy denies, in any order", () => {
		const allow = policy("allow", "Workers AI Write");
		const deny = policy("deny", "Workers AI Run");
		expect([...permissionsOf([allow, deny])]).toEqual(["read", "write", "gateways-write"]);
		expect([...permissionsOf([deny, allow])]).toEqual(["read", "write", "gateways-write"]);
		expect([...permissionsOf([deny])]).toEqual([]);
	});
});

describe("the status", () => {
	it.each([
		["active", {}],
		["active", { expiresOn: NOW + 1 }],
		["expired", { expiresOn: NOW }],
		["disabled", { expiresOn: NOW, disabled: true }],
	])("is %s with %j", (status, overrides) => {
		expect(statusOf({ ...fields(), ...overrides }, NOW)).toBe(status);
	});
});

describe("check", () => {
	it("accepts a token with the permission, and returns its limits", () =>
		within(({ tokens, make }) => {
			const limits = { dailyMicroNeurons: 5_000_000, requestsPerMinute: 3 };
			make("t", { limits }, "Workers AI Read");
			expect(tokens.check("t", "run")).toEqual({ ok: true, id: "t", limits });
		}));

	it("keeps a monthly budget, also in a table of an earlier version", () =>
		within(({ again, make, sql }) => {
			const before = { limits: { dailyMicroNeurons: 7 } };
			make("old", before, "Workers AI Read");
			sql.exec("ALTER TABLE tokens DROP COLUMN monthly_micro_neurons");
			const limits = { monthlyMicroNeurons: 9, requestsPerMinute: 3 };
			const tokens = again();
			tokens.run({
				kind: "create",
				maker: OPERATOR,
				id: "new",
				hash: "new",
				fields: { ...fields("Workers AI Read"), limits },
			});
			expect(again().check("new", "run")).toEqual({ ok: true, id: "new", limits });
			expect(again().check("old", "run")).toEqual({ ok: true, id: "old", ...before });
		}));

	it("refuses an unknown hash", () =>
		within(({ tokens }) => {
			expect(tokens.check("t", "run")).toEqual(refusedAs("authentication"));
		}));

	it("names the groups that grant the permission", () =>
		within(({ tokens, make }) => {
			make("t", {}, "Workers AI Metadata Read");
			expect(tokens.check("t", "run")).toEqual(
				refusedAs(
					"forbidden",
					'Authentication error: the token needs the permission group "Workers AI Read" or "Workers AI Write" or "Workers AI Run" or "AI Search Read" or "AI Search Write" or "AI Search Run"',
				),
			);
		}));

	it("ends at expires_on, to the millisecond", () =>
		within(({ tokens, make, clock }) => {
			make("t", { expiresOn: NOW + 1000 }, "Workers AI Read");
			clock.now = NOW + 999;
			expect(tokens.check("t", "run").ok).toBe(true);
			clock.now = NOW + 1000;
			expect(tokens.check("t", "run")).toEqual(
				refusedAs("authentication", "Authentication error: the token has expired"),
			);
		}));

	it("begins at not_before", () =>
		within(({ tokens, make, clock }) => {
			make("t", { notBefore: NOW + 1000 }, "Workers AI Read");
			expect(tokens.check("t", "run")).toEqual(
				refusedAs("authentication", "Authentication error: the token is not valid yet"),
			);
			clock.now = NOW + 1000;
			expect(tokens.check("t", "run").ok).toBe(true);
		}));

	it("refuses a disabled token", () =>
		within(({ tokens, make }) => {
			make("t", { disabled: true }, "Workers AI Read");
			expect(tokens.check("t", "run")).toEqual(
				refusedAs("authentication", "Authentication error: the token is disabled"),
			);
		}));

	it("is the same after an eviction", () =>
		within(({ tokens, again, make }) => {
			make(
				"t",
				{ expiresOn: NOW + DAY, notBefore: NOW, limits: { requestsPerMinute: 3 } },
				"Workers AI Read",
			);
			make("u", { disabled: true }, "Workers AI Read");
			const evicted = again();
			for (const hash of ["t", "u", "v"])
				for (const permission of ["run", "write"] as const)
					expect(evicted.check(hash, permission)).toEqual(tokens.check(hash, permission));
			const get = { kind: "get", maker: OPERATOR, id: "t" } as const;
			expect(first(evicted.run(get))).toEqual({ ...first(tokens.run(get)), lastUsedOn: NOW });
		}));
});

describe("last_used_on", () => {
	const used = (tokens: Tokens) => first(tokens.run({ kind: "get", maker: OPERATOR, id: "t" })).lastUsedOn;

	it("is exact in memory, and written at most once a minute", () =>
		within(({ tokens, again, make, clock, sql }) => {
			make("t", {}, "Workers AI Read");
			expect(used(tokens)).toBeUndefined();
			const writes = () => sql.exec<{ n: number }>("SELECT total_changes() AS n").one().n;
			const before = writes();
			for (let request = 0; request < 100; request++) {
				clock.now = NOW + request * 100;
				tokens.check("t", "run");
			}
			expect(writes() - before).toBe(1);
			expect(used(tokens)).toBe(NOW + 9900);
			expect(used(again())).toBe(NOW);
			clock.now = NOW + MINUTE;
			tokens.check("t", "run");
			expect(writes() - before).toBe(2);
			expect(used(again())).toBe(NOW + MINUTE);
		}));

	it("is of one token in the answer to `verify`", () =>
		within(({ tokens, make }) => {
			make("t", {}, "Workers AI Read");
			expect(tokens.run({ kind: "verify", hash: "t" })).toMatchObject({
				ok: true,
				tokens: [{ id: "t", lastUsedOn: NOW }],
				total: 1,
			});
		}));

	it("is set by `verify`, and stays when the token is updated", () =>
		within(({ tokens, make, clock }) => {
			make("t", {}, "Workers AI Read");
			tokens.run({ kind: "verify", hash: "t" });
			expect(used(tokens)).toBe(NOW);
			clock.now = NOW + DAY;
			tokens.run({ kind: "update", maker: OPERATOR, id: "t", fields: fields("Workers AI Read") });
			expect(used(tokens)).toBe(NOW);
		}));

	it("is absent from a token that was updated before its first use", () =>
		within(({ tokens, make }) => {
			make("t", {}, "Workers AI Read");
			tokens.run({ kind: "update", maker: OPERATOR, id: "t", fields: fields("Workers AI Read") });
			expect(first(tokens.run({ kind: "get", maker: OPERATOR, id: "t" }))).not.toHaveProperty("lastUsedOn");
		}));

	it("does not go back with the clock", () =>
		within(({ tokens, make, clock }) => {
			make("t", {}, "Workers AI Read");
			tokens.check("t", "run");
			clock.now = NOW - DAY;
			tokens.check("t", "run");
			expect(used(tokens)).toBe(NOW);
		}));

	it("is not set by a refused request", () =>
		within(({ tokens, make }) => {
			make("t", {}, "Workers AI Metadata Read");
			tokens.check("t", "run");
			expect(used(tokens)).toBeUndefined();
		}));
});

describe("commands", () => {
	it("store no text of a token, and one hash of each", () =>
		within(({ make, sql, tokens }) => {
			make("t", {}, "Workers AI Read");
			tokens.run({ kind: "roll", maker: OPERATOR, id: "t", hash: "second" });
			expect([...sql.exec("SELECT id, hash FROM tokens")]).toEqual([{ id: "t", hash: "second" }]);
			expect(tokens.check("t", "run")).toEqual(refusedAs("authentication"));
			expect(tokens.check("second", "run").ok).toBe(true);
		}));

	it("update a token in place, and keep absent fields", () =>
		within(({ tokens, again, make, clock }) => {
			const made = make(
				"t",
				{ disabled: true, expiresOn: NOW + DAY, limits: { requestsPerMinute: 3 } },
				"Workers AI Read",
			);
			clock.now = NOW + 1000;
			const { disabled: _, limits: __, ...update } = fields("Workers AI Run");
			const updated = first(
				tokens.run({ kind: "update", maker: OPERATOR, id: "t", fields: { ...update, name: "renamed" } }),
			);
			const { expiresOn: ___, ...kept } = made;
			expect(updated).toEqual({
				...kept,
				name: "renamed",
				policies: update.policies,
				modifiedOn: NOW + 1000,
			});
			expect(first(again().run({ kind: "get", maker: OPERATOR, id: "t" }))).toEqual(updated);
			tokens.run({
				kind: "update",
				maker: OPERATOR,
				id: "t",
				fields: { ...update, disabled: false, limits: {} },
			});
			expect(tokens.check("t", "run")).toEqual({ ok: true, id: "t", limits: {} });
			expect(tokens.check("t", "read")).toMatchObject(refusedAs("forbidden"));
		}));

	it("delete a token at once", () =>
		within(({ tokens, again, make }) => {
			make("t", {}, "Workers AI Read");
			expect(first(tokens.run({ kind: "delete", maker: OPERATOR, id: "t" })).id).toBe("t");
			for (const after of [tokens, again()]) {
				expect(after.check("t", "run")).toEqual(refusedAs("authentication"));
				expect(after.run({ kind: "get", maker: OPERATOR, id: "t" })).toEqual(
					refusedAs("notFound", 'Token not found: "t"; GET …/tokens lists the ids'),
				);
			}
		}));

	it("repeat no value of a token that was sent in the place of an id", () =>
		within(({ tokens }) => {
			expect(tokens.run({ kind: "get", maker: OPERATOR, id: newTokenText("acme") })).toEqual(
				refusedAs("notFound", 'Token not found: "glt_…"; GET …/tokens lists the ids'),
			);
		}));

	it("list by time of issue, in pages, without expired tokens", () =>
		within(({ tokens, again, make, clock }) => {
			for (const id of ["a", "b", "c", "d", "e"]) {
				make(id, id === "c" ? { expiresOn: NOW + 100 } : {}, "Workers AI Read");
				clock.now += 10;
			}
			clock.now = NOW + 1000;
			// Neither command moves a token in the list.
			tokens.run({ kind: "roll", maker: OPERATOR, id: "a", hash: "a2" });
			tokens.run({ kind: "update", maker: OPERATOR, id: "b", fields: fields("Workers AI Run") });
			const list = (more: Partial<Extract<TokenCommand, { kind: "list" }>>, from = tokens) => {
				const result = from.run({
					kind: "list",
					maker: OPERATOR,
					page: 1,
					perPage: 20,
					direction: "asc",
					includeExpired: false,
					...more,
				});
				return result.ok && { ids: result.tokens.map(({ id }) => id).join(""), total: result.total };
			};
			expect(list({})).toEqual({ ids: "abde", total: 4 });
			expect(list({}, again())).toEqual({ ids: "abde", total: 4 });
			expect(list({ includeExpired: true })).toEqual({ ids: "abcde", total: 5 });
			expect(list({ direction: "desc", perPage: 3 })).toEqual({ ids: "edb", total: 4 });
			expect(list({ direction: "desc", perPage: 3, page: 2 })).toEqual({ ids: "a", total: 4 });
			expect(list({ perPage: 3, page: 3 })).toEqual({ ids: "", total: 4 });
		}));

	it("delete a token a month after its expiry", () =>
		within(({ tokens, make, clock }) => {
			make("old", { expiresOn: NOW + 1 }, "Workers AI Read");
			const exists = () => tokens.run({ kind: "get", maker: OPERATOR, id: "old" }).ok;
			clock.now = NOW + 30 * DAY;
			make("new", {}, "Workers AI Read");
			expect(exists()).toBe(true);
			clock.now = NOW + 30 * DAY + 1;
			make("newer", {}, "Workers AI Read");
			expect(exists()).toBe(false);
		}));

	it("create at most a thousand tokens", () =>
		within(({ tokens, make }) => {
			for (let n = 0; n < 1000; n++) make(`t${n}`, {}, "Workers AI Run");
			const one = { kind: "create", maker: OPERATOR, id: "x", hash: "x", fields: fields() } as const;
			expect(tokens.run(one)).toEqual(refusedAs("invalidRequest", "an account has at most 1000 tokens"));
			tokens.run({ kind: "delete", maker: OPERATOR, id: "t0" });
			expect(tokens.run(one).ok).toBe(true);
		}));

	it("verify the calling token with any permissions", () =>
		within(({ tokens, make }) => {
			make("t", {}, "Workers AI Run");
			make("d", { disabled: true }, "Workers AI Run");
			expect(first(tokens.run({ kind: "verify", hash: "t" })).id).toBe("t");
			expect(tokens.run({ kind: "verify", hash: "d" })).toMatchObject(refusedAs("authentication"));
			expect(tokens.run({ kind: "verify", hash: "x" })).toEqual(refusedAs("authentication"));
		}));
});

describe("a token that creates tokens", () => {
	const create = (more: Partial<TokenFields>, ...groups: string[]): TokenCommand => ({
		kind: "create",
		maker: token("maker"),
		id: "child",
		hash: "child",
		fields: { ...fields(...groups), ...more },
	});

	it("needs the permission, and to be valid, for every command", () =>
		within(({ tokens, make }) => {
			make("reader", {}, "Workers AI Write", "Account API Tokens Read");
			make("none", {}, "Workers AI Write");
			make("off", { disabled: true }, WRITE);
			const by = (hash: string): TokenCommand[] => {
				const maker = token(hash);
				return [
					{
						kind: "list",
						maker,
						page: 1,
						perPage: 1,
						direction: "asc",
						includeExpired: false,
					},
					{ kind: "get", maker, id: "none" },
					{ kind: "create", maker, id: "x", hash: "x", fields: fields() },
					{ kind: "update", maker, id: "none", fields: fields() },
					{ kind: "roll", maker, id: "none", hash: "x" },
					{ kind: "delete", maker, id: "none" },
				];
			};
			const failures = (hash: string) =>
				by(hash).map((command) => {
					const result = tokens.run(command);
					return result.ok ? "ok" : result.failure;
				});
			const all = (failure: string) => Array.from({ length: 6 }, () => failure);
			expect(failures("unknown")).toEqual(all("authentication"));
			expect(failures("off")).toEqual(all("authentication"));
			expect(failures("none")).toEqual(all("forbidden"));
			expect(failures("reader")).toEqual(["ok", "ok", ...all("forbidden").slice(2)]);
			expect(tokens.check("none", "write").ok).toBe(true);
		}));

	it("grants no permission that it lacks", () =>
		within(({ tokens, make }) => {
			make("maker", {}, WRITE, "Workers AI Run");
			expect(tokens.run(create({}, "Workers AI Read"))).toEqual(
				refusedAs(
					"forbidden",
					"Authentication error: a token cannot give permissions that it does not have: read",
				),
			);
			expect(tokens.run(create({}, "Workers AI Run", WRITE)).ok).toBe(true);
		}));

	it("may name more than it has if a policy denies the difference", () =>
		within(({ tokens, make }) => {
			make("maker", {}, WRITE, "Workers AI Run");
			const policies = [policy("allow", "Workers AI Write"), policy("deny", "Workers AI Metadata Read")];
			expect(tokens.run(create({ policies }))).toMatchObject(refusedAs("forbidden"));
			const none = [policy("allow", "Workers AI Write"), policy("deny", "Workers AI Write")];
			expect(tokens.run(create({ policies: none })).ok).toBe(true);
		}));

	it.each<[string, Partial<TokenFields>, Partial<TokenFields>]>([
		["neurons", { limits: { dailyMicroNeurons: 100 } }, { limits: { dailyMicroNeurons: 101 } }],
		["neurons a month", { limits: { monthlyMicroNeurons: 100 } }, { limits: { monthlyMicroNeurons: 101 } }],
		["requests", { limits: { requestsPerMinute: 10 } }, { limits: { requestsPerMinute: 11 } }],
		["time", { expiresOn: NOW + DAY }, { expiresOn: NOW + DAY + 1 }],
	])("gives no more %s than it has", (_, own, more) =>
		within(({ tokens, make }) => {
			make("maker", own, WRITE);
			expect(tokens.run(create(more))).toMatchObject(refusedAs("forbidden"));
			expect(tokens.run(create({}))).toMatchObject(refusedAs("forbidden"));
			expect(tokens.run(create(own)).ok).toBe(true);
		}),
	);

	it.each([{ dailyMicroNeurons: 10 }, { monthlyMicroNeurons: 10 }, { requestsPerMinute: 10 }])(
		"with limits of its own does not multiply them: %j",
		(limits) =>
			within(({ tokens, make }) => {
				make("maker", { limits }, WRITE, "Workers AI Read");
				make("other", { limits }, "Workers AI Run");
				const maker = token("maker");
				const refused = refusedAs(
					"forbidden",
					"Authentication error: a token with limits of its own cannot let another one run models",
				);
				expect(tokens.run(create({ limits }, "Workers AI Run"))).toEqual(refused);
				expect(tokens.run({ kind: "roll", maker, id: "other", hash: "x" })).toEqual(refused);
				const given = { ...fields("Workers AI Run"), limits };
				expect(tokens.run({ kind: "update", maker, id: "other", fields: given })).toEqual(refused);
				// Tokens that it creates cannot do it either. It may roll and rename itself.
				expect(tokens.run(create({ limits }, "Workers AI Metadata Read", WRITE)).ok).toBe(true);
				const byChild = { ...create({ limits }, "Workers AI Run"), maker: token("child") };
				expect(tokens.run(byChild)).toMatchObject(refusedAs("forbidden"));
				const renamed = { ...fields("Workers AI Run", WRITE), name: "renamed", limits };
				expect(tokens.run({ kind: "update", maker, id: "maker", fields: renamed }).ok).toBe(true);
				expect(tokens.run({ kind: "roll", maker, id: "maker", hash: "y" }).ok).toBe(true);
				expect(tokens.check("y", "run")).toEqual({ ok: true, id: "maker", limits });
			}),
	);

	it("widens neither another token nor itself", () =>
		within(({ tokens, make }) => {
			make("maker", {}, WRITE);
			for (const id of ["maker", "child"]) {
				if (id === "child") tokens.run(create({}));
				const result = tokens.run({
					kind: "update",
					maker: token("maker"),
					id,
					fields: fields("Workers AI Run"),
				});
				expect(result).toMatchObject(refusedAs("forbidden"));
			}
			expect(tokens.check("maker", "run").ok).toBe(false);
		}));

	it("does not roll a token with more permissions, but may delete it", () =>
		within(({ tokens, make }) => {
			make("maker", {}, WRITE);
			make("strong", {}, "Workers AI Write");
			const maker = token("maker");
			expect(tokens.run({ kind: "roll", maker, id: "strong", hash: "x" })).toMatchObject(
				refusedAs("forbidden"),
			);
			expect(tokens.check("strong", "write").ok).toBe(true);
			expect(tokens.check("x", "write").ok).toBe(false);
			expect(tokens.run({ kind: "roll", maker, id: "maker", hash: "y" }).ok).toBe(true);
			expect(tokens.run({ kind: "delete", maker: token("y"), id: "strong" }).ok).toBe(true);
		}));
});
