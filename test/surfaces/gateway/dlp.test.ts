import { describe, expect, it } from "vitest";
import { dlpMiddleware } from "../../../src/gateways/middleware/dlp.ts";
import type { GatewayRequest } from "../../../src/gateways/request.ts";
import type { GatewaySettings } from "../../../src/gateways/settings.ts";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import {
	CALLER,
	completion,
	DONE,
	delta,
	ENGINE_VARS,
	events,
	finish,
	testServices,
	upstream,
	usage,
} from "../../gateway.ts";
import { GATEWAY_SETTINGS } from "./gateway-settings.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const CARD = "4111 1111 1111 1111";

async function gateway(
	dlp: GatewaySettings["dlp"],
	reply: () => Response = () => Response.json(completion("Hello")),
) {
	const engine = upstream(reply);
	const background: Promise<unknown>[] = [];
	const services = {
		...testServices({ vars: ENGINE_VARS, fetch: engine.fetch }),
		waitUntil: (work: Promise<unknown>) => void background.push(work.catch(() => {})),
	};
	const account = `team-${crypto.randomUUID()}`;
	const settings = {
		...GATEWAY_SETTINGS,
	};
	await services.gateways.change(account, "main", (registry) =>
		registry.create("main", { ...settings, dlp }),
	);
	const run = async (query: object, headers: object = {}) => {
		const request = new Request("https://workers-binding.ai/ai-gateway/universal/run/main", {
			method: "POST",
			body: JSON.stringify([{ provider: "workers-ai", endpoint: LLAMA, headers, query }]),
		});
		const response = await wireOf(services).fetch(request, { caller: { ...CALLER, account } });
		const text = await response.text();
		await Promise.all(background);
		const report = response.headers.get("cf-aig-dlp");
		return { response, text, report: report === null ? undefined : JSON.parse(report) };
	};
	return { run, calls: () => engine.requests.length };
}

const finding = (check: string, policies: string[]) => ({
	profile: { context: {}, entry_ids: [], profile_id: "credit_card" },
	policy_ids: policies,
	check,
});
const policy = (action: "FLAG" | "BLOCK", check: ("REQUEST" | "RESPONSE")[]) => ({
	enabled: true,
	policies: [{ id: "cards", enabled: true, action, check, profiles: ["credit_card"] }],
});

describe("data-loss prevention", () => {
	it("refuses a request with a blocked profile, without calling the model", async () => {
		const { run, calls } = await gateway({ enabled: true, action: "BLOCK", profiles: ["credit_card"] });
		const { response, text, report } = await run({
			messages: [{ role: "user", content: `My card: ${CARD}` }],
		});
		expect([response.status, JSON.parse(text)]).toMatchObject([400, { internalCode: 2029 }]);
		expect(text).not.toContain("4111");
		expect(report).toEqual({ findings: [finding("REQUEST", [])], action: "BLOCK" });
		expect(calls()).toBe(0);
		const passed = await run({ prompt: "Hi" });
		expect([passed.response.status, passed.report]).toEqual([200, undefined]);
	});

	it("reports a flagged request and its answer", async () => {
		const { run } = await gateway(policy("FLAG", ["REQUEST", "RESPONSE"]), () =>
			Response.json(completion(`Your card is ${CARD}`)),
		);
		const { response, report } = await run({ prompt: CARD });
		expect(response.status).toBe(200);
		expect(report).toEqual({
			findings: [finding("REQUEST", ["cards"]), finding("RESPONSE", ["cards"])],
			action: "FLAG",
		});
	});

	it("refuses an answer, also a stream whose events split the number", async () => {
		const answers = [
			() => Response.json(completion(CARD)),
			() => events(delta("4111 1111 "), delta("1111 1111"), finish(), usage(), DONE),
		];
		for (const [index, reply] of answers.entries()) {
			const { run } = await gateway(policy("BLOCK", ["RESPONSE"]), reply);
			const { response, text, report } = await run({ prompt: CARD, stream: index === 1 });
			expect([response.status, JSON.parse(text)]).toMatchObject([400, { internalCode: 2030 }]);
			expect(text).not.toContain("4111");
			expect(report).toEqual({ findings: [finding("RESPONSE", ["cards"])], action: "BLOCK" });
		}
	});

	it("does not cache a blocked answer, and repeats the report of a flagged one", async () => {
		const reply = () => Response.json(completion(CARD));
		const ttl = { "cf-aig-cache-ttl": "60" };
		const blocked = await gateway(policy("BLOCK", ["RESPONSE"]), reply);
		for (let nth = 1; nth <= 2; nth++) {
			await blocked.run({ prompt: "Hi" }, ttl);
			expect(blocked.calls()).toBe(nth);
		}
		const flagged = await gateway(policy("FLAG", ["RESPONSE"]), reply);
		const first = await flagged.run({ prompt: "Hi" }, ttl);
		const second = await flagged.run({ prompt: "Hi" }, ttl);
		expect(second.response.headers.get("cf-aig-cache-status")).toBe("HIT");
		expect(second.report).toEqual(first.report);
		expect(first.report.action).toBe("FLAG");
	});

	it.each([
		["audio/mpeg", 200],
		["text/plain", 400],
	])("sends media at once, and refuses any other answer above 24 MiB: %s", async (type, status) => {
		let pulled = 0;
		const body = new ReadableStream({
			pull(controller) {
				if (pulled++ < 25) controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20));
				else controller.close();
			},
		});
		const request = {
			settings: { dlp: policy("BLOCK", ["RESPONSE"]) },
			exchange: { facts: {}, report: () => {} },
			signal: new AbortController().signal,
		} as unknown as GatewayRequest;
		const answer = new Response(body, { headers: { "content-type": type } });
		const answered = dlpMiddleware(request, async () => answer);
		if (status === 200) {
			const response = await answered;
			expect(pulled).toBeLessThan(3);
			expect((await response.bytes()).length).toBe(25 * 1024 * 1024);
		} else await expect(answered).rejects.toMatchObject({ status, code: 2030 });
	});
});
