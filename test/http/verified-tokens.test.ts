import { describe, expect, it } from "vitest";
import type { Credential, Ledgers, Permission } from "../../src/accounts/admission.ts";
import { AiError } from "../../src/core/errors.ts";
import { VerifiedTokens } from "../../src/http/verified-tokens.ts";

/** Accounts for which every token is valid, except the hash `revoked`. */
function world() {
	const calls: string[] = [];
	const state = { time: 5_000 };
	const ledgers = {
		of: (account: string) => ({
			verify: async (credential: Credential, permission: Permission) => {
				const hash = credential.kind === "token" ? credential.hash : "";
				calls.push(`${account} ${hash} ${permission}`);
				if (hash === "revoked") throw new AiError("authentication");
			},
		}),
	} as unknown as Ledgers;
	const tokens = new VerifiedTokens({ ledgers, now: () => state.time });
	const verify = (hash: string, account = "a") => tokens.verify(account, { kind: "token", hash });
	return { calls, state, tokens, verify };
}

describe("a verified token", () => {
	it("is cached for a second", async () => {
		const { calls, state, verify } = world();
		await verify("t");
		state.time = 5_999;
		await verify("t");
		expect(calls).toEqual(["a t run"]);
		state.time = 6_000;
		await verify("t");
		expect(calls).toEqual(["a t run", "a t run"]);
	});

	it("is cached by its account and hash", async () => {
		const { calls, verify } = world();
		await verify("t");
		await verify("t", "b");
		await verify("u");
		expect(calls).toEqual(["a t run", "b t run", "a u run"]);
	});

	it("is not cached if the account refuses it", async () => {
		const { calls, verify } = world();
		await expect(verify("revoked")).rejects.toMatchObject({ key: "authentication" });
		await expect(verify("revoked")).rejects.toMatchObject({ key: "authentication" });
		expect(calls).toHaveLength(2);
	});

	it("is not needed for the operator", async () => {
		const { calls, tokens } = world();
		await tokens.verify("a", { kind: "operator" });
		expect(calls).toEqual([]);
	});
});

it("keeps at most 1,000 tokens: the next one empties the cache", async () => {
	const { calls, verify } = world();
	for (let i = 0; i < 1_000; i++) await verify(`t${i}`);
	await verify("t0");
	await verify("t999");
	expect(calls).toHaveLength(1_000);
	await verify("t1000");
	await verify("t1000");
	expect(calls).toHaveLength(1_001);
	await verify("t0");
	await verify("t999");
	expect(calls).toHaveLength(1_003);
});
