import { describe, expect, it } from "vitest";
import { parseReplicaList } from "../../src/pools/replica-list.ts";

const BOTH = ["http://a:8000/v1", "http://b:8000/v1"];
const parse = (list: unknown, protocol?: string) => parseReplicaList(JSON.stringify(list), "/v1", protocol);

describe("a list of replicas", () => {
	it.each([
		["addresses", ["http://a:8000/v1", "http://b:8000/v1/"]],
		["objects", [{ url: "http://a:8000", weight: 1 }, { url: "http://b:8000/" }]],
		["an object with replicas", { replicas: [{ url: "http://a:8000/v1" }, "http://b:8000/v1"] }],
		[
			"SGLang's workers",
			{
				workers: [
					{ id: "1", url: "http://a:8000" },
					{ id: "2", url: "http://b:8000" },
				],
				total: 2,
			},
		],
		["Prometheus's targets", [{ targets: ["a:8000", "b:8000"], labels: { job: "vllm" } }]],
		["repeated addresses", [...BOTH, ...BOTH]],
	])("may be %s", (_, list) => {
		expect(parse(list)).toEqual({ urls: BOTH, roles: {}, bootstrapPorts: {} });
	});

	it.each([
		[
			"objects",
			[
				{ url: "http://a:8000", role: "prefill", bootstrap_port: 9000 },
				{ url: "http://b:8000", role: "decode" },
			],
		],
		[
			"SGLang's workers",
			{
				workers: [
					{ url: "http://a:8000", worker_type: "prefill", bootstrap_port: 9000 },
					{ url: "http://b:8000", worker_type: "decode", bootstrap_port: null },
				],
			},
		],
		[
			"Prometheus's targets",
			[
				{ targets: ["a:8000"], labels: { role: "prefill", bootstrap_port: "9000" } },
				{ targets: ["b:8000"], labels: { role: "decode" } },
			],
		],
	])("has roles as %s", (_, list) => {
		expect(parse(list, "sglang")).toEqual({
			urls: BOTH,
			roles: { "http://a:8000/v1": "prefill", "http://b:8000/v1": "decode" },
			bootstrapPorts: { "http://a:8000/v1": 9_000 },
		});
	});

	it("has SGLang's regular workers in both roles", () => {
		const { roles } = parse({ workers: [{ url: "http://a/v1", worker_type: "regular" }] }, "sglang");
		expect(roles).toEqual({ "http://a/v1": "both" });
	});

	it("may have 2,000 addresses, with https and with paths of their own", () => {
		const urls = Array.from({ length: 2_000 }, (_, i) => `https://a/${i}`);
		expect(parse(urls).urls).toEqual(urls);
	});

	const NO_ADDRESS = "expected the http or https address of an engine, found another text";
	it.each([
		["an address of another scheme", ["http://a", "file:///etc/passwd"], `[1]: ${NO_ADDRESS}`],
		["credentials", ["http://user:secret@a/v1"], `[0]: ${NO_ADDRESS}`],
		["a user", ["http://user@a/v1"], `[0]: ${NO_ADDRESS}`],
		["a password", ["http://:secret@a/v1"], `[0]: ${NO_ADDRESS}`],
		["a query", ["http://a/v1?b=1"], `[0]: ${NO_ADDRESS}`],
		["a fragment", ["http://a/v1#b"], `[0]: ${NO_ADDRESS}`],
		[
			"another shape",
			{ items: [] },
			'expected a list, or an object with a list "replicas" or "workers", found neither',
		],
		["too many", Array(2_001).fill("http://a"), "expected at most 2000 replicas, found 2001"],
		["a target that is no text", [{ targets: ["a", 5] }], "[0].targets[1]: expected text, found a number"],
		["no address", { replicas: [{ host: "a" }] }, "replicas[0].url: expected text, found nothing"],
		[
			"an unknown role",
			["http://a", { url: "http://b", role: "encode" }],
			'[1].role: expected "both", "prefill" or "decode", found "encode"; did you mean "decode"?',
		],
		[
			"an unknown type of worker",
			{ workers: [{ url: "http://b", worker_type: "encode" }] },
			'workers[0].worker_type: expected "regular", "prefill" or "decode", found "encode"; did you mean "decode"?',
		],
		[
			"an unknown role in a label",
			[{ targets: ["a"], labels: { role: "encode" } }],
			'[0].labels.role: expected "both", "prefill" or "decode", found "encode"; did you mean "decode"?',
		],
		[
			"a role without two stages",
			{ replicas: [{ url: "http://b", role: "decode" }] },
			'replicas[0].role: expected "both" in a pool without disaggregation, found "decode"',
		],
	])("is refused with %s", (_, list, message) => {
		expect(() => parse(list)).toThrow(message);
	});

	it("is refused with the port of a replica that meets no other", () => {
		const list = [{ url: "http://b", role: "decode", bootstrap_port: 9_000 }];
		expect(() => parse(list, "sglang")).toThrow(/^\[0\]\.bootstrap_port: expected no such field/);
		expect(() => parseReplicaList("<html>", "/v1")).toThrow("expected a list");
	});
});
