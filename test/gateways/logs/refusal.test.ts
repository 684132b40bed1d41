/** The disk that the log of a refusal takes: with rows, indexes and free space of pages. */
import { runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { batchOf } from "../../../src/gateways/logs/log-batch.ts";
import type { Payload } from "../../../src/gateways/logs/log-row.ts";
import { logOfRefusal, refusalOf } from "../../../src/gateways/logs/refusal.ts";
import { newGateway, newRow } from "./rows.ts";

const ROWS = 2_000;
const MAX_ROW_BYTES = 1_024;
const LONG = "x".repeat(2_000);

describe("the log of a refusal", () => {
	const error = (message: string): Payload => ({
		text: JSON.stringify({ errors: [{ message, code: 3036 }], success: false, result: {}, messages: [] }),
		complete: true,
	});

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
				...{ dlp: JSON.stringify("x".repeat(160)), guardrails: JSON.stringify("x".repeat(160)) },
			},
		],
		["with an error only", {}],
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
			const logs = Array.from({ length: 100 }, () =>
				logOfRefusal(newRow({ success: 0, ...fields }), "budgetExceeded", error(LONG)),
			);
			await gateway.append(batchOf(logs), { max: ROWS, strategy: "DELETE_OLDEST" });
		}
		const bytes = ((await size()) - before) / ROWS;
		expect(bytes).toBeGreaterThan(100);
		expect(bytes).toBeLessThanOrEqual(MAX_ROW_BYTES);
	});

	it("keeps what a caller usually sends, and the error", () => {
		const row = newRow({
			...{ model: "@cf/meta/llama-3.1-8b-instruct-fast", path: "@cf/meta/llama-3.1-8b-instruct-fast" },
			...{ metadata: '{"team":"research"}', model_type: "Text Generation" },
		});
		const response = error("AiError: You have used up");
		const types = { response_content_type: null };
		expect(logOfRefusal(row, "budgetExceeded", response)).toEqual({
			row: { ...row, ...types, error: response.text },
		});
		expect(logOfRefusal(row, "budgetExceeded")).toEqual({ row });
	});

	it("has each text complete or not at all, but the names, the path and the user agent", () => {
		for (let findings = 0; findings < 440; findings += 5) {
			const types = { request_content_type: "application/json", response_content_type: "text/html" };
			const texts = { model_type: "Text Generation", ...types };
			const row = newRow({ ...texts, path: LONG, user_agent: LONG, dlp: "x".repeat(findings) });
			const { row: short } = logOfRefusal(row, "requestLeak");
			for (const [name, text] of Object.entries(texts))
				expect([text, null]).toContain(short[name as keyof typeof texts]);
			expect(["x".repeat(64), null]).toContain(short.user_agent);
		}
	});

	it("cuts the message of an error, which stays JSON", () => {
		const row = newRow({ dlp: JSON.stringify("x".repeat(200)) });
		const { error: cut } = logOfRefusal(row, "budgetExceeded", error(`"é😀${LONG}`)).row;
		expect(JSON.parse(cut ?? "").errors).toEqual([
			{ code: 3036, message: expect.stringMatching(/^"é😀x{20,}$/) },
		]);
	});

	it.each([
		["Latin letters with accents", "No such model: ".concat("é".repeat(150))],
		["Cyrillic letters", "ж".repeat(186)],
		["characters that JSON escapes", "\u0001".repeat(200)],
	])("keeps as much of a message as fits, in bytes: %s", (_, message) => {
		const kept = logOfRefusal(newRow(), "budgetExceeded", error(message)).row.error ?? "";
		expect(new TextEncoder().encode(kept).length).toBeLessThanOrEqual(160);
		const [{ message: part }] = JSON.parse(kept || '{"errors":[{"message":""}]}').errors;
		expect(message.startsWith(part)).toBe(true);
		if (!message.startsWith("\u0001")) expect(part.length).toBeGreaterThan(50);
	});

	it("has no error that cannot be shortened", () => {
		for (const text of [LONG, JSON.stringify(Array.from({ length: 200 }, () => 3036))])
			expect(logOfRefusal(newRow(), "badInput", { text, complete: true }).row.error).toBeNull();
		const partly = { text: '{"errors":[{"mess', complete: false };
		expect(logOfRefusal(newRow(), "badInput", partly).row.error).toBeNull();
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
		expect(refusalOf(failure === undefined ? {} : { failure }) !== undefined).toBe(expected);
	});
});
