import { describe, expect, it } from "vitest";
import { ConfigError, configure } from "../../src/config/index.ts";

const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const KIMI = "@cf/moonshotai/kimi-k2.6";

const ENGINE = {
	BACKENDS: { engine: { kind: "openai", url: "http://engine/v1" } },
	ROUTES: { "own/*": [{ backend: "engine" }], solo: [{ backend: "engine" }] },
};

function problemsOf(ALIASES: unknown): readonly string[] {
	try {
		configure({ ...ENGINE, ALIASES });
	} catch (error) {
		if (error instanceof ConfigError) return error.problems;
		throw error;
	}
	return [];
}

describe("ALIASES", () => {
	it("names models for all accounts and for one", () => {
		const { aliases } = configure({
			...ENGINE,
			ALIASES: JSON.stringify({
				fast: LLAMA,
				"gpt-4o": "own/any",
				alone: "solo",
				accounts: { acme: { fast: KIMI } },
			}),
		});
		expect([...aliases.everyone]).toEqual([
			["fast", LLAMA],
			["gpt-4o", "own/any"],
			["alone", "solo"],
		]);
		expect([...aliases.accounts].map(([account, table]) => [account, [...table]])).toEqual([
			["acme", [["fast", KIMI]]],
		]);
		expect(configure({}).aliases.everyone.size).toBe(0);
	});

	it.each<[unknown, string]>([
		[{ [LLAMA]: KIMI }, `ALIASES["${LLAMA}"]: expected a new name, found the id of a model`],
		[{ solo: KIMI }, "ALIASES.solo: expected a new name, found the id of a model"],
		[{ a: "a" }, 'ALIASES.a: expected the id of a model, found the alias "a"'],
		[{ a: "b", b: "a" }, 'ALIASES.a: expected the id of a model, found the alias "b"'],
		[
			{ fast: LLAMA, accounts: { acme: { best: "fast" } } },
			'ALIASES.accounts.acme.best: expected the id of a model, found the alias "fast"',
		],
		[
			{ a: "@cf/moonshotai/kimi-k2.66" },
			'ALIASES.a: expected the id of a model, found "@cf/moonshotai/kimi-k2.66"; did you mean "@cf/moonshotai/kimi-k2.6"?',
		],
		[{ a: "nothing-like-it" }, 'ALIASES.a: expected the id of a model, found "nothing-like-it"'],
		[{ a: 5 }, "ALIASES.a: expected the id of a model, found a number"],
		[{ "a*": LLAMA }, 'ALIASES["a*"]: expected a name of up to 256 characters without spaces, *, ? and #'],
		[{ accounts: LLAMA }, "ALIASES.accounts: expected an object, found text"],
		[{ accounts: { acme: [] } }, "ALIASES.accounts.acme: expected an object, found a list"],
		["[]", "ALIASES: expected an object, found a list"],
	])("%j is a mistake", (aliases, problem) => expect(problemsOf(aliases)[0]).toBe(problem));
});
