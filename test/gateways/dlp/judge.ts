/** Steps with data in them, and what data-loss prevention does with them. */
import { dlpMiddleware } from "../../../src/gateways/middleware/dlp.ts";
import type { GatewayRequest, GatewayStep, StepBody } from "../../../src/gateways/request.ts";

export const CARD = "4111 1111 1111 1111";
export const DIGITS = "4111111111111111";
export const EMAIL = "ada@corp.example";
export const MODEL = "gpt-6-astra";
export const bytesOf = (text: string) => new Uint8Array(new TextEncoder().encode(text));
export const latin1 = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));

export type Sent = Partial<Pick<GatewayStep, "body" | "endpoint" | "passed" | "provider">>;

export const ofBytes = (bytes: Uint8Array<ArrayBuffer>, contentType: string): StepBody => ({
	contentType,
	content: { bytes },
});
export const json = (value: unknown): Sent => ({
	body: { contentType: "application/json", content: { json: value } },
});
export const user = (content: unknown): Sent => json({ model: MODEL, messages: [{ role: "user", content }] });
export const raw = (body: string | Uint8Array<ArrayBuffer>, contentType: string, headers = {}): Sent => {
	const bytes = typeof body === "string" ? bytesOf(body) : body;
	return { body: ofBytes(bytes, contentType), passed: { headers: new Headers(headers), body: bytes } };
};
/** A request whose data is in its headers. */
export const withHeaders = (values: Record<string, string>): Sent => ({
	...user("Hi"),
	passed: { headers: new Headers(values) },
});

/** `code`: of the refusal. `calls`: of the provider. `isFound`: the log has what was found. */
export async function judge(rule: { action: "BLOCK" | "FLAG"; profiles: string[] }, sent: Sent) {
	const facts: { dlp?: unknown } = {};
	const request = {
		settings: { dlp: { enabled: true, ...rule } },
		step: { provider: "openai", endpoint: "v1/chat/completions", ...user("Hi"), ...sent },
		exchange: { facts, report: (reported: object) => Object.assign(facts, reported) },
	} as unknown as GatewayRequest;
	let calls = 0;
	const result = await dlpMiddleware(request, async () => {
		calls++;
		return new Response("Hello", { headers: { "content-type": "text/plain" } });
	}).then(
		({ status }) => ({ status }),
		({ code }) => ({ code }),
	);
	return { ...result, calls, isFound: facts.dlp !== undefined };
}
