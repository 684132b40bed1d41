import { expect, it } from "vitest";
import { ConfigError, configure } from "../../src/config/index.ts";

const KEYS = { EXA_API_KEY: "exa-secret", BRAVE_API_KEY: "brave-secret" };
const settings = (WEB_SEARCH: object, vars: object = {}) =>
	configure({ ...KEYS, ...vars, WEB_SEARCH }).webSearch;
const problems = (WEB_SEARCH: object): readonly string[] => {
	try {
		settings(WEB_SEARCH);
		return [];
	} catch (error) {
		if (error instanceof ConfigError) return error.problems;
		throw error;
	}
};

it("WEB_SEARCH has providers by name, of which the first or the marked one is the default", () => {
	const exa = { kind: "exa", key: "EXA_API_KEY" };
	const own = { kind: "searxng", url: "http://searx.lan:8888" };
	expect(settings({ exa, own })?.fallback).toMatchObject({
		name: "exa",
		url: "https://api.exa.ai",
		key: "exa-secret",
	});
	expect(settings({ exa, own: { ...own, default: true } })?.fallback).toMatchObject({
		name: "own",
		kind: "searxng",
		url: "http://searx.lan:8888",
	});
	expect(settings({ exa: { ...exa, usd_per_thousand: 1.1 } })?.fallback?.model.prices).toEqual([
		{ unit: "per inference request", usd: 0.0011, neurons: expect.closeTo(100, 6) },
	]);
	expect(settings({})).toBeUndefined();
});

it("the simulator searches if it is the default backend, or by its kind", () => {
	const vars = { DEFAULT_BACKEND: "simulator" };
	expect(settings({}, vars)?.fallback?.kind).toBe("simulator");
	const exa = { kind: "exa", key: "EXA_API_KEY" };
	expect(settings({ exa }, vars)).toMatchObject({
		fallback: { kind: "exa" },
		simulator: { kind: "simulator" },
	});
	expect(settings({ test: { kind: "simulator" } })?.fallback).toMatchObject({
		name: "test",
		kind: "simulator",
	});
});

it("a mistake is named by its path, without a secret", () => {
	expect(problems({ exa: { kind: "exa" } })).toEqual([
		"WEB_SEARCH.exa.key: expected the name of a secret that is set, found none",
	]);
	expect(problems({ own: { kind: "searxng" } })).toEqual([
		"WEB_SEARCH.own.url: expected the address of the instance, found none",
	]);
	expect(problems({ exa: { kind: "brave", key: "BRAVE_API_KEY" } })).toEqual([
		'WEB_SEARCH.exa.kind: expected "exa", found "brave"',
	]);
	expect(problems({ "Our Search": { kind: "exa", key: "EXA_API_KEY" } })).toEqual([
		"WEB_SEARCH[\"Our Search\"]: expected a name of up to 64 lower-case letters, digits, '.', '_' and '-', found another",
	]);
	const two = { kind: "exa", key: "EXA_API_KEY", default: true };
	expect(problems({ exa: two, own: { kind: "searxng", url: "http://searx.lan", default: true } })).toEqual([
		"WEB_SEARCH: expected one default, found 2",
	]);
	expect(problems({ exa: { kind: "exxa", key: "EXA_API_KEY" } })).toEqual([
		'WEB_SEARCH.exa.kind: expected one of 7 names, found "exxa"; did you mean "exa"?',
	]);
	expect(problems({ exa: { kind: "exa", key: "exa-secret" } }).join()).not.toContain("exa-secret");
});
