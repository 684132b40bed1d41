/** The disk that the log of a refusal takes: with rows, indexes and free space of pages. */
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { batchOf } from "../../../src/gateways/logs/log-batch.ts";
import { isRefusal, logOfRefusal } from "../../../src/gateways/logs/refusal.ts";
import { newGateway, newRow } from "./rows.ts";

const ROWS = 2_000;
const MAX_ROW_BYTES = 1_024;
const LONG = "x".repeat(2_000);

describe("the log of a refusal", () => {
	it.each([
		[
			"with long texts",
			{
				...{ provider: LONG, model: LONG, model_type: LONG, path: LONG, event_id: LONG, user_agent: LONG },
				...{ request_content_type: LONG, response_content_type: LONG },
				...{ metadata: JSON.stringify({ note: LONG }), dlp: JSON.stringify(LONG), guardrails: LONG },
			},
		],
		[
			"with the longest texts that are kept",
			{
				...{ provider: LONG, model: LONG, model_type: LONG, path: LONG, event_id: LONG, user_agent: LONG },
				...{ request_content_type: LONG, response_content_type: LONG },
				...{ metadata: '{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}' },
				...{ dlp: JSON.stringify("x".repeat(158)), guardrails: JSON.stringify("x".repeat(158)) },
			},
		],
		[
			"with texts of other scripts",
			{ ...{ provider: "界".repeat(2_000), model: "界".repeat(2_000), path: "界".repeat(2_000) } },
		],
		["with an id of its event", { event_id: "11111111-2222-3333-4444-555555555555" }],
		[
			"of a budget",
			{
				...{ model: "@cf/meta/llama-3.1-8b-instruct-fast", path: "@cf/meta/llama-3.1-8b-instruct-fast" },
				...{ status_code: 429, user_agent: "OpenAI/JS 6.1.0", metadata: '{"team":"research"}' },
			},
		],
	])("%s takes at most 1 KB", async (_, fields) => {
		const gateway = newGateway();
		const size = () => runInDurableObject(gateway, (__, { storage: { sql } }) => sql.databaseSize);
		const before = await size();
		for (let sent = 0; sent < ROWS; sent += 100) {
			const logs = Array.from({ length: 100 }, () => logOfRefusal(newRow({ success: 0, ...fields })));
			await gateway.append(batchOf(logs), { max: ROWS, strategy: "DELETE_OLDEST" });
		}
		const bytes = ((await size()) - before) / ROWS;
		expect(bytes).toBeGreaterThan(100);
		expect(bytes).toBeLessThanOrEqual(MAX_ROW_BYTES);
	});

	it("has no payload, and keeps what a caller usually sends", () => {
		const row = newRow({
			...{ model: "@cf/meta/llama-3.1-8b-instruct-fast", path: "@cf/meta/llama-3.1-8b-instruct-fast" },
			...{ metadata: '{"team":"research"}', dlp: '{"findings":[],"action":"BLOCK"}' },
		});
		expect(logOfRefusal(row)).toEqual({ row });
		expect(logOfRefusal({ ...row, path: LONG, metadata: JSON.stringify({ note: LONG }) }).row).toEqual({
			...row,
			path: "x".repeat(64),
			metadata: null,
		});
	});

	it.each([
		["accountLimited", true],
		["budgetExceeded", true],
		["spendLimited", true],
		["gatewayLimited", true],
		["rateLimited", true],
		["missingProviderKey", true],
		["promptBlocked", true],
		["runResponseBlocked", true],
		["requestLeak", true],
		["responseLeak", true],
		["badInput", true],
		["authentication", true],
		["aborted", false],
		["providerUnreachable", false],
		["upstreamUnavailable", false],
		["engineRefused", false],
		["attemptTimeout", false],
		["executionFailed", false],
		["jsonModeUnmet", false],
		["modelTimeout", false],
		["providerKeyRefused", false],
		["refusedByModel", false],
		["timeout", false],
		[undefined, false],
	] as const)("is that of the failure %s: %s", (failure, expected) => {
		expect(isRefusal(failure === undefined ? {} : { failure })).toBe(expected);
	});
});
