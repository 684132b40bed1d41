import { describe, expect, it } from "vitest";
import { redacted, withStoredSecrets } from "../../src/gateways/secrets.ts";
import { DEFAULT_SETTINGS, type GatewayUpdate } from "../../src/gateways/settings.ts";

const STORED = {
	...DEFAULT_SETTINGS,
	otel: [
		{ url: "https://a.example/v1/traces", authorization: "Bearer a", headers: { "x-key": "secret-a" } },
		{ url: "https://b.example/v1/traces", authorization: "Bearer b" },
	],
	stripe: { authorization: "sk_live_1", usage_events: [{ payload: "{}" }] },
};
const PLACEHOLDER = "[redacted]";

describe("secrets of a gateway", () => {
	it("are not shown", () => {
		const shown = redacted({ ...STORED, id: "g", created_at: "", modified_at: "", is_default: false });
		expect(shown).toMatchObject({
			id: "g",
			otel: [
				{
					url: "https://a.example/v1/traces",
					authorization: PLACEHOLDER,
					headers: { "x-key": PLACEHOLDER },
				},
				{ url: "https://b.example/v1/traces", authorization: PLACEHOLDER },
			],
			stripe: { authorization: PLACEHOLDER, usage_events: [{ payload: "{}" }] },
		});
		expect(JSON.stringify(shown)).not.toMatch(/secret-a|Bearer|sk_live/);
	});

	it("are kept by an update with the placeholder, for the same address only", () => {
		const update: GatewayUpdate = {
			...DEFAULT_SETTINGS,
			otel: [
				{ url: "https://b.example/v1/traces", authorization: PLACEHOLDER },
				{
					url: "https://a.example/v1/traces",
					authorization: "Bearer new",
					headers: { "x-key": PLACEHOLDER, "x-other": PLACEHOLDER },
				},
				{ url: "https://attacker.example", authorization: PLACEHOLDER, headers: { "x-key": PLACEHOLDER } },
			],
			stripe: { authorization: PLACEHOLDER },
		};
		expect(withStoredSecrets(update, STORED)).toEqual({
			...DEFAULT_SETTINGS,
			otel: [
				{ url: "https://b.example/v1/traces", authorization: "Bearer b" },
				{
					url: "https://a.example/v1/traces",
					authorization: "Bearer new",
					headers: { "x-key": "secret-a", "x-other": "" },
				},
				{ url: "https://attacker.example", authorization: "", headers: { "x-key": "" } },
			],
			stripe: { authorization: "sk_live_1" },
		});
	});

	it("are absent in settings without them", () => {
		expect(withStoredSecrets(DEFAULT_SETTINGS, STORED)).toEqual(DEFAULT_SETTINGS);
		expect(withStoredSecrets({ ...DEFAULT_SETTINGS, otel: null }, STORED)).toEqual({
			...DEFAULT_SETTINGS,
			otel: null,
		});
	});
});
