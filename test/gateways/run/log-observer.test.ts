import { expect, it } from "vitest";
import type { EndedRequest } from "../../../src/gateways/ended-request.ts";
import type { Log } from "../../../src/gateways/logs/log-row.ts";
import { logObserver } from "../../../src/gateways/run/log-observer.ts";

const BOUNDS = { logBytes: 1_000_000_000, accountLogBytes: 2_000_000_000 };

it("a row of texts that the caller chose is small", () => {
	const long = "x".repeat(100_000);
	const logs: Log[] = [];
	const observe = logObserver({ maxPayload: 1_000, record: (_, log) => void logs.push(log) }, BOUNDS);
	observe({
		exchange: {
			...{ account: "a", gateway: "g", id: crypto.randomUUID(), eventId: "e" },
			source: { type: "Provider", userAgent: long },
		},
		end: { durationMs: 1, model: "m", path: long },
		settings: { collect_logs: true },
		step: { provider: "custom-mine", body: { contentType: long, content: { json: { model: long } } } },
		options: { metadata: { note: long } },
		responseType: long,
		failed: false,
	} as unknown as EndedRequest);
	const [log] = logs;
	expect(log?.row).toMatchObject({
		...{ path: "x".repeat(2_048), user_agent: "x".repeat(512) },
		...{ request_content_type: "x".repeat(256), response_content_type: "x".repeat(256), metadata: null },
	});
	expect(JSON.stringify(log?.row).length).toBeLessThan(6_000);
});

/** The fields that the observer reads. */
const endedRequest = (fields: object): EndedRequest =>
	({
		exchange: {
			account: "a",
			gateway: "g",
			id: crypto.randomUUID(),
			eventId: "e",
			source: { type: "REST" },
		},
		end: { durationMs: 1 },
		settings: { collect_logs: true },
		options: {},
		responseType: null,
		failed: false,
		...fields,
	}) as unknown as EndedRequest;

it.each([
	[undefined, 1],
	[true, 1],
	[false, 0],
])(
	"a gateway with authentication %s has %s in its logs: without the setting, it requires a token",
	(authentication, logged) => {
		const logs: Log[] = [];
		const observe = logObserver({ maxPayload: 1_000, record: (_, log) => void logs.push(log) }, BOUNDS);
		observe(endedRequest({ settings: { collect_logs: true, authentication } }));
		expect(logs[0]?.row.authentication).toBe(logged);
	},
);

it("a model that a dynamic route of compat chose is in the mode of compat", () => {
	const logs: Log[] = [];
	const observe = logObserver({ maxPayload: 1_000, record: (_, log) => void logs.push(log) }, BOUNDS);
	for (const compat of [{ provider: "dynamic", model: "support" }, undefined])
		observe(
			endedRequest({
				step: {
					provider: "openai",
					compat,
					body: { contentType: "application/json", content: { json: {} } },
				},
			}),
		);
	expect(logs.map(({ row }) => row.compatibility_mode)).toEqual([1, 0]);
});
