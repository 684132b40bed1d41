import { describe, expect, it } from "vitest";
import type { PrefillLeg } from "../../../../src/backends/backend.ts";
import { PROTOCOLS } from "../../../../src/backends/openai/prefill-decode/protocols.ts";
import { parseExactly } from "../../../../src/core/exact-json.ts";
import { isRecord } from "../../../../src/core/json.ts";
import { TARGET } from "../../upstream.ts";

const BODY = {
	model: "m",
	messages: [],
	stream: true,
	stream_options: { include_usage: true },
	min_tokens: 5,
};
const ONE_TOKEN = { model: "m", messages: [], stream: false, max_tokens: 1, max_completion_tokens: 1 };

function leg(protocol: keyof typeof PROTOCOLS, url: string): PrefillLeg {
	return {
		target: { ...TARGET, url },
		disaggregation: {
			protocol,
			roles: { [url]: "prefill" },
			minPrefillTokens: 0,
			bootstrapPorts: { [url]: 9001 },
			rewriteRemoteHost: false,
		},
		succeed: () => {},
		fail: () => {},
		countMissingHandle: () => {},
		cancel: () => {},
	};
}
const legsOf = (protocol: keyof typeof PROTOCOLS, choices = 1, url = "http://[fd00::7]:8000/v1") =>
	PROTOCOLS[protocol](BODY, { leg: leg(protocol, url), choices });

describe("bodies of both calls", () => {
	it("nixl: the handle is sent as it was received", () => {
		const { prefill, decode } = legsOf("nixl");
		expect(prefill).toMatchObject(ONE_TOKEN);
		expect(Object.keys(prefill)).not.toEqual(expect.arrayContaining(["min_tokens"]));
		if (typeof decode !== "function") throw new Error("no handle");
		const handle =
			'{"remote_block_ids":[18446744073709551615],"remote_host":"10.0.0.9","new_field":{"a":[null]}}';
		const reply = parseExactly(`{"kv_transfer_params":${handle}}`);
		if (!isRecord(reply)) throw new Error("no reply");
		expect(JSON.stringify(decode(reply))).toBe(
			`${JSON.stringify(BODY).slice(0, -1)},"kv_transfer_params":${handle}}`,
		);
		expect(decode({ kv_transfer_params: null })).toBeUndefined();
		expect(decode({})).toBeUndefined();
	});

	it("sglang: both calls are the same, and rooms are distinct integers below 2^53 with random low bits", () => {
		const { prefill, decode } = legsOf("sglang");
		expect(decode).toBe(prefill);
		expect(prefill).toMatchObject({ ...BODY, bootstrap_host: "fd00::7", bootstrap_port: 9001 });
		const target = { ...TARGET, url: "http://10.0.0.7:8000/v1" };
		const { prefill: byDefault } = PROTOCOLS.sglang(BODY, {
			leg: { ...leg("sglang", ""), target },
			choices: 1,
		});
		expect(byDefault).toMatchObject({ bootstrap_host: "10.0.0.7", bootstrap_port: 8998 });
		const rooms = legsOf("sglang", 1_000).prefill.bootstrap_room as number[];
		expect(new Set(rooms).size).toBe(1_000);
		expect(rooms.every((room) => Number.isSafeInteger(room) && room >= 0)).toBe(true);
		expect(rooms.some((room) => room > 2 ** 50)).toBe(true);
		for (const remainder of [0, 1, 2, 3]) {
			const share = rooms.filter((room) => room % 4 === remainder).length;
			// Of 1,000 random rooms 250 are expected, with a standard deviation of 14.
			expect(Math.abs(share - 250)).toBeLessThan(100);
		}
	});

	it.each([
		["at the top", (params: string) => `{"disaggregated_params":${params}}`],
		["in the first choice", (params: string) => `{"choices":[{"disaggregated_params":${params}}]}`],
	])("tensorrt-llm: the handle is merged, %s", (_, replyOf) => {
		const { prefill, decode } = legsOf("tensorrt-llm");
		const { disaggregated_params: sent } = prefill;
		if (!isRecord(sent) || typeof decode !== "function") throw new Error("no request");
		expect(prefill).toMatchObject({ ...ONE_TOKEN, disaggregated_params: { request_type: "context_only" } });
		expect(Number.isSafeInteger(sent.disagg_request_id)).toBe(true);
		expect(sent.disagg_request_id).toBeGreaterThanOrEqual(2 ** 42);
		const params =
			'{"request_type":"context_only","ctx_request_id":9223372036854775807,"first_gen_tokens":[7]}';
		const reply = parseExactly(replyOf(params));
		if (!isRecord(reply)) throw new Error("no reply");
		const { disaggregated_params: merged } = decode(reply) ?? {};
		expect(JSON.stringify(merged)).toBe(
			`{"request_type":"generation_only","ctx_request_id":9223372036854775807,"first_gen_tokens":[7],"disagg_request_id":${sent.disagg_request_id}}`,
		);
		expect(decode({ choices: [{ finish_reason: "stop" }] })).toBeUndefined();
	});
});
