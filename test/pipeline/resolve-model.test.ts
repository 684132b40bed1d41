import { describe, expect, it } from "vitest";
import { Catalog } from "../../src/models/catalog.ts";
import { isServed } from "../../src/pipeline/is-served.ts";
import type { Routing } from "../../src/pipeline/plan.ts";
import {
	type AuthorizeServices,
	authorize as authorizeRouted,
	requireKey,
} from "../../src/pipeline/resolve-model.ts";

const NOW = Date.parse("2026-11-21");
const LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const ENDED = "@cf/meta/llama-2-7b-chat-int8";

const authorize = (id: string, services: AuthorizeServices) =>
	authorizeRouted(id, services.routing.find(id), services);

const services = (routing: Routing["find"], now = NOW) => ({
	catalog: new Catalog(),
	routing: { find: routing, list: () => [] },
	now: () => now,
});
const byRoute = services(() => ({ targets: [], billed: false, named: true, strict: false }));
const byDefault = services(() => ({ targets: [], billed: false, named: false, strict: false }));
const unserved = services(() => undefined);

describe("authorize", () => {
	it("finds a model of the catalogue", () => {
		expect(authorize(LLAMA, byDefault).id).toBe(LLAMA);
	});

	it("refuses an id that neither the catalogue nor a route knows", () => {
		for (const which of [byDefault, unserved]) {
			expect(() => authorize("@cf/acme/x", which)).toThrow("5007: No such model @cf/acme/x or task");
			expect(() => authorize("llama3.2", which)).toThrow("5007: No such model llama3.2 or task");
			// AI Gateway's words: the product's own models begin with @cf.
			expect(() => authorize("acme/x", which)).toThrow("7003: Model not found: acme/x");
		}
	});

	it.each([
		["@cf/meta/llama-3.1-8b-instuct", "@cf/meta/llama-3.1-8b-instruct"],
		// Without its author, and with a wrong one.
		["llama-3.3-70b-instruct-fp8-fast", "@cf/meta/llama-3.3-70b-instruct-fp8-fast"],
		["@cf/meta/bge-base-en-v1.5", "@cf/baai/bge-base-en-v1.5"],
		["@cf/openai/gpt-oss-120", "@cf/openai/gpt-oss-120b"],
	])("suggests for %s the model %s", (typed, meant) => {
		expect(() => authorize(typed, unserved)).toThrow(
			`5007: No such model ${typed} or task; did you mean "${meant}"?`,
		);
	});

	it("suggests a model that is served, if there is a choice", () => {
		const served = "@cf/meta/llama-3.2-3b-instruct";
		const only = services((id) =>
			id === served ? { targets: [], billed: false, named: true, strict: false } : undefined,
		);
		expect(() => authorize("@cf/meta/llama-3.2-2b-instruct", only)).toThrow(`did you mean "${served}"?`);
	});

	it.each([
		// kimi-k2.5 and the shorter names of Llama have ended.
		["kimi", "@cf/moonshotai/kimi-k2.6"],
		["llama", "@cf/meta/llama-3.2-1b-instruct"],
		["llama-guard", "@cf/meta/llama-guard-3-8b"],
		// All have ended.
		["phi", "@cf/microsoft/phi-2"],
	])("suggests for %s a chat model that has not ended, if there is one: %s", (typed, meant) => {
		expect(() => authorize(typed, byDefault)).toThrow(`or task; did you mean "${meant}"?`);
	});

	it("compares no long name with the catalogue", () => {
		const long = `@cf/meta/${"llama-3.1-8b-instruct".repeat(10)}`;
		expect(() => authorize(long, unserved)).toThrow(/or task$/);
	});

	it("makes a model of an id that a route names, and the same one each time", () => {
		const model = authorize("acme/x", byRoute);
		expect(model).toMatchObject({ id: "acme/x", status: "adhoc", task: "Text Generation" });
		expect(authorize("acme/x", byRoute)).toBe(model);
	});

	it("gives a provider's own name of a model, or of its version, the price of that model", () => {
		const { prices, contextWindow } = new Catalog().find("anthropic/claude-haiku-4.5") ?? {};
		expect(prices).not.toEqual([]);
		for (const name of ["claude-haiku-4-5", "claude-haiku-4-5-20251001", "claude-haiku-4-5-latest"]) {
			const id = `anthropic/${name}`;
			expect(authorize(id, byRoute)).toMatchObject({ id, status: "adhoc", prices, contextWindow });
		}
		expect(authorize("acme/claude-haiku-4-5", byRoute).prices).toEqual([]);
		expect(authorize("anthropic/claude-haiku-9", byRoute).prices).toEqual([]);
	});

	it("refuses a longer id than memory and tables should hold, and repeats only its start", () => {
		const long = `acme/${"x".repeat(1_020)}`;
		expect(authorize(long.slice(0, 1_024), byRoute).id).toHaveLength(1_024);
		for (const which of [byRoute, byDefault, unserved])
			expect(() => authorize(long, which)).toThrow(
				`5007: No such model acme/${"x".repeat(95)}… or task: its name is too long`,
			);
	});

	it("remembers a bounded number of them", () => {
		const first = authorize("acme/0", byRoute);
		for (let i = 1; i <= 1000; i++) authorize(`acme/${i}`, byRoute);
		expect(authorize("acme/0", byRoute)).not.toBe(first);
	});

	it("refuses a model from the day that it ended, unless a route names it", () => {
		expect(() => authorize(ENDED, byDefault)).toThrow(
			`5028: ${ENDED} was deprecated on 2026-05-30. See the model catalog for alternatives, or serve it here by a route that names it (ROUTES)`,
		);
		expect(authorize(ENDED, byRoute).id).toBe(ENDED);
		const before = services(
			() => ({ targets: [], billed: false, named: false, strict: false }),
			Date.parse("2026-05-29T23:59:59Z"),
		);
		expect(authorize(ENDED, before).id).toBe(ENDED);
	});
});

describe("isServed", () => {
	it("is true of what authorize lets through and something serves", () => {
		const catalog = new Catalog();
		for (const [which, answers] of [
			[byRoute, { [LLAMA]: true, [ENDED]: true }],
			[byDefault, { [LLAMA]: true, [ENDED]: false }],
			[unserved, { [LLAMA]: false, [ENDED]: false }],
		] as const)
			for (const [id, answer] of Object.entries(answers)) {
				const model = catalog.find(id);
				expect(model && isServed(model, which), id).toBe(answer);
			}
	});
});

describe("a name that clients have built in", () => {
	it.each([
		"gpt-5.6-sol",
		"gpt-6-astra",
		"claude-opus-5-5",
		"gemini-3.8-flash",
		"o4-mini",
		"text-embedding-3-small",
	])("is refused with the settings that would serve it: %s", (id) => {
		expect(() => authorize(id, unserved)).toThrow(
			`5007: No such model ${id} or task: clients have this name built in. An alias (ALIASES) or a route (ROUTES) serves it by a model of yours`,
		);
	});

	it("is no other name", () => {
		expect(() => authorize("ollama3", unserved)).toThrow(/or task$/);
	});
});

describe("a third party's model", () => {
	const CLAUDE = "anthropic/claude-haiku-4.5";
	const required = (id: string): void => requireKey({ model: authorize(id, unserved), routed: undefined });

	it("is found, whatever serves it", () => {
		for (const which of [byRoute, byDefault, unserved]) expect(authorize(CLAUDE, which).id).toBe(CLAUDE);
	});

	it("that nothing serves wants its author's key, or a route where there is no such key", () => {
		expect(() => required(CLAUDE)).toThrow(
			"2021: Insufficient AI Gateway credits: nothing is set up here for anthropic (see PROVIDER_KEYS, or store a key in provider_configs of the gateway)",
		);
		expect(() => required("recraft/recraftv4")).toThrow(
			"2021: Insufficient AI Gateway credits: nothing is set up here for recraft (see ROUTES)",
		);
	});

	it("that the catalogue lacks may be its author's", () => {
		expect(authorize("openai/gpt-99", byRoute)).toMatchObject({ status: "adhoc" });
		expect(() => authorize("openai/gpt-99", unserved)).toThrow("2021");
		expect(() => authorize("groq/llama-3.3-70b-versatile", unserved)).toThrow("2021");
		// The default backend has no other ids than the catalogue.
		expect(() => authorize("openai/gpt-99", byDefault)).toThrow("7003: Model not found: openai/gpt-99");
	});

	it("is refused if its task is not available here, whatever serves its author", () => {
		for (const which of [byRoute, byDefault, unserved])
			expect(() => authorize("google/veo-3", which)).toThrow(
				"7003: Model not found: google/veo-3 (Text-to-Video is not available here)",
			);
	});

	it.each(["constructor/x", "toString/x", "__proto__/x"])("is not %s", (id) => {
		expect(() => authorize(id, unserved)).toThrow("7003");
	});
});
