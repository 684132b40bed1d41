import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../../src/gateways/cache/canonical-json.ts";
import { cacheKey, type KeyedStep } from "../../../src/gateways/cache/key.ts";

const SETTINGS = {
	created_at: "2026-11-21T12:00:00.000Z",
	modified_at: "2026-11-21T13:00:00.000Z",
	cache_invalidate_on_update: false,
};

const step = (overrides: Partial<KeyedStep> = {}): KeyedStep => ({
	provider: "workers-ai",
	endpoint: "@cf/meta/llama-3.1-8b-instruct",
	model: undefined,
	body: { contentType: "application/json", content: { json: { prompt: "Hi" } } },
	format: "gateway",
	providerKey: undefined,
	options: {},
	...overrides,
});
const json = (value: unknown): KeyedStep["body"] => ({
	contentType: "application/json",
	content: { json: value },
});
const bytes = (text: string, contentType = "audio/wav"): KeyedStep["body"] => ({
	contentType,
	content: { bytes: new Uint8Array(new TextEncoder().encode(text)) },
});
const keyOf = (overrides: Partial<KeyedStep> = {}, settings = SETTINGS) =>
	cacheKey(step(overrides), settings);

/** The same value with the keys of its objects in reverse. */
function reversed(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(reversed);
	if (typeof value !== "object" || value === null) return value;
	const fields = Object.entries(value).map(([name, field]): [string, unknown] => [name, reversed(field)]);
	return Object.fromEntries(fields.reverse());
}

describe("canonicalJson", () => {
	it("sorts keys, omits absent fields and keeps the order of lists", () => {
		expect(canonicalJson({ b: [2, 1, { d: null, c: "é" }], a: undefined, "": true })).toBe(
			'{"":true,"b":[2,1,{"c":"é","d":null}]}',
		);
	});

	it("contains the hash of bytes, which no text can imitate", () => {
		// echo -n abc | sha256sum
		const hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
		const abc = new TextEncoder().encode("abc");
		expect(canonicalJson({ audio: abc })).toBe(`{"audio":sha256:${hash}}`);
		expect(canonicalJson({ audio: abc.buffer })).toBe(`{"audio":sha256:${hash}}`);
		expect(canonicalJson({ audio: `sha256:${hash}` })).toBe(`{"audio":"sha256:${hash}"}`);
	});

	it.each([new ReadableStream(), new Map(), 1n, () => 1])("has no text for other values", (value) => {
		expect(canonicalJson({ value })).toBeUndefined();
	});
});

describe("cacheKey", () => {
	it("is equal for equal inputs, whatever the order of their keys", () => {
		fc.assert(
			fc.property(fc.jsonValue(), (value) => {
				expect(keyOf({ body: json(reversed(value)) })).toBe(keyOf({ body: json(value) }));
			}),
		);
	});

	it("differs for different inputs", () => {
		fc.assert(
			fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
				// -0 and 0 are the same number in JSON.
				fc.pre(JSON.stringify(reversed(a)) !== JSON.stringify(reversed(b)));
				fc.pre(JSON.stringify(a) !== JSON.stringify(b));
				const isEqual = keyOf({ body: json(a) }) === keyOf({ body: json(b) });
				// The order of keys may be the only difference.
				if (isEqual) expect(JSON.parse(JSON.stringify(a))).toEqual(JSON.parse(JSON.stringify(b)));
			}),
		);
	});

	it("differs by everything that the answer depends on", () => {
		const keys = [
			keyOf(),
			keyOf({ provider: "openai" }),
			keyOf({ endpoint: "@cf/meta/llama-3.1-8b-instruct?x=1" }),
			keyOf({ model: "a" }),
			keyOf({ format: "rest" }),
			keyOf({ providerKey: "a" }),
			keyOf({ body: json({ prompt: "Hi", stream: true }) }),
			keyOf({ body: { ...json({ prompt: "Hi" }), contentType: "application/json; charset=utf-8" } }),
			keyOf({ body: bytes("Hi") }),
			keyOf({ body: bytes("Hi", "audio/mpeg") }),
			keyOf({ body: { ...bytes("Hi"), parameters: { query: { language: "en" } } } }),
			keyOf({ body: { ...bytes("Hi"), parameters: { query: { language: "de" } } } }),
			keyOf({ body: bytes('{"prompt":"Hi"}', "application/json") }),
			keyOf({ options: { cacheKey: "a" } }),
			keyOf({}, { ...SETTINGS, created_at: "2026-11-22T12:00:00.000Z" }),
		];
		expect(new Set(keys).size).toBe(keys.length);
		for (const key of keys) expect(key).toMatch(/^[0-9a-f]{64}$/);
	});

	it("does not let one part continue in the next", () => {
		expect(keyOf({ provider: "a", endpoint: "bc" })).not.toBe(keyOf({ provider: "ab", endpoint: "c" }));
		expect(keyOf({ model: "a", providerKey: undefined })).not.toBe(
			keyOf({ model: undefined, providerKey: "a" }),
		);
	});

	it("replaces all but the format by the key of the caller", () => {
		const options = { cacheKey: "mine" };
		const key = keyOf({ options });
		expect(keyOf({ options, provider: "openai", model: "a", providerKey: "b", body: json(1) })).toBe(key);
		expect(keyOf({ options: { cacheKey: "other" } })).not.toBe(key);
		expect(keyOf({ options, format: "rest" })).not.toBe(key);
		expect(keyOf({ options, body: json({ stream: true }) })).not.toBe(key);
		expect(keyOf({ options, body: json({ stream: false }) })).toBe(key);
	});

	it("differs after an update of a gateway that invalidates its cache", () => {
		const later = { ...SETTINGS, modified_at: "2026-11-22T12:00:00.000Z" };
		expect(keyOf({}, later)).toBe(keyOf());
		const invalidates = { cache_invalidate_on_update: true };
		expect(keyOf({}, { ...later, ...invalidates })).not.toBe(keyOf({}, { ...SETTINGS, ...invalidates }));
	});

	it("is the hash of its parts, also if it was calculated before", () => {
		const key = () => keyOf({ options: { cacheKey: "mine" } });
		// echo -n '[1,"custom","2026-11-21T12:00:00.000Z",false,"gateway",false,"mine"]' | sha256sum
		const hash = "8174224a02655e87dfef9484f80d8afb83d228db77c568f6dd54bb27522b5953";
		const others = (): string[] =>
			Array.from({ length: 1_001 }, (_, n) => keyOf({ options: { cacheKey: String(n) } }) ?? "");
		expect([key(), key()]).toEqual([hash, hash]);
		const first = others();
		expect(new Set([hash, ...first]).size).toBe(1_002);
		// The isolate keeps fewer hashes.
		expect(others()).toEqual(first);
		expect(key()).toBe(hash);
	});

	it("is the hash of its parts for a long input", () => {
		// The first line is [1,"json","2026-11-21T12:00:00.000Z",false,"workers-ai",…,"application/json","null"], by Python's hashlib.
		const hash = "e0577aa09b8a4f13b47d08e4f5b190963943d8b16f172591bf7d90f61f979a1f";
		const body = json({ prompt: "é".repeat(5_000) });
		expect([keyOf({ body }), keyOf({ body })]).toEqual([hash, hash]);
	});
});

describe("the key of a form", () => {
	const form = (boundary: string, ...parts: string[]) =>
		bytes(
			[...parts.map((part) => `--${boundary}\r\n${part}\r\n`), `--${boundary}--\r\n`].join(""),
			`multipart/form-data; boundary=${boundary}`,
		);
	const MODEL = 'content-disposition: form-data; name="model"\r\n\r\nwhisper-1';
	const FILE = 'content-disposition: form-data; name="file"; filename="a.wav"\r\n\r\nRIFF';

	it("does not depend on the boundary, which clients choose at random", () => {
		const key = keyOf({ body: form("----WebKitFormBoundaryA1b2", MODEL, FILE) });
		expect(keyOf({ body: form("boundary-7f3", MODEL, FILE) })).toBe(key);
	});

	it("depends on each part and on their order", () => {
		const key = keyOf({ body: form("x1", MODEL, FILE) });
		expect(keyOf({ body: form("x1", FILE, MODEL) })).not.toBe(key);
		expect(keyOf({ body: form("x1", MODEL, `${FILE}!`) })).not.toBe(key);
		expect(keyOf({ body: form("x1", MODEL) })).not.toBe(key);
	});
});
