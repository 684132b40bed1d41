import { describe, expect, it, vi } from "vitest";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import type { ExchangeObserver } from "../../../src/telemetry/exchange-observer.ts";
import {
	CALLER,
	DONE,
	delta,
	ENGINE_VARS,
	finish,
	liveEvents,
	testServices,
	upstream,
	usage,
} from "../../gateway.ts";
import { ADMIN, closedGateway, json } from "../../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const RESUMABLE = { "cf-aig-resumable": "true" };

function gateway(headers: object = RESUMABLE) {
	const live = liveEvents();
	const engine = upstream(() => live.response);
	const services = testServices({ vars: ENGINE_VARS, fetch: engine.fetch });
	const background: Promise<unknown>[] = [];
	const outcomes: (string | undefined)[] = [];
	const observer: ExchangeObserver = {
		settled: (_, { settlement }) => void outcomes.push(settlement.outcome),
	};
	const app = wireOf({
		...services,
		observers: [...services.observers, observer],
		waitUntil: (work) => void background.push(work.catch(() => {})),
	});
	const account = `team-${crypto.randomUUID()}`;
	const send = async (path: string, init: RequestInit = {}, caller = account) =>
		app.fetch(new Request(`https://workers-binding.ai${path}`, init), {
			caller: { ...CALLER, account: caller },
		});
	return {
		live,
		outcomes,
		send,
		settled: async () => {
			for (let done = -1; done < background.length; ) {
				done = background.length;
				await Promise.all(background);
			}
		},
		start: (signal?: AbortSignal) =>
			send("/ai-gateway/universal/run/main", {
				method: "POST",
				body: JSON.stringify([
					{ provider: "workers-ai", endpoint: LLAMA, headers, query: { prompt: "Hi", stream: true } },
				]),
				...(signal && { signal }),
			}),
		resume: (run: string, from: number | string, { caller = account, id = "main" } = {}) =>
			send(`/ai-gateway/gateways/${id}/run/${run}/resume?from=${from}`, {}, caller),
	};
}

const ANSWER = [delta("Hel"), delta("lo"), finish(), usage(), DONE];

describe("a resumable stream", () => {
	it("is generated to its end when the caller leaves, charged once, and resumed byte for byte", async () => {
		const { live, outcomes, resume, send, settled, start } = gateway();
		const caller = new AbortController();
		live.send(ANSWER[0] ?? "");
		const response = await start(caller.signal);
		const run = response.headers.get("cf-aig-run-id") ?? "";
		expect(run).toMatch(/^[0-9a-f]{64}$/);
		const reader = response.body?.getReader();
		const first = new TextDecoder().decode((await reader?.read())?.value);
		expect(first).toContain("Hel");
		caller.abort();
		await reader?.cancel();
		for (const frame of ANSWER.slice(1)) live.send(frame);
		live.end();
		await settled();
		expect(outcomes).toEqual(["ok"]);
		await vi.waitFor(async () => {
			const log = await send(`/ai-gateway/gateways/main/logs/${response.headers.get("cf-aig-log-id")}`);
			expect(await log.json()).toMatchObject({ result: { success: true, tokens_in: 3, tokens_out: 2 } });
		});
		const complete = await (await resume(run, 0)).text();
		expect(complete.startsWith(first)).toBe(true);
		expect(complete.endsWith("data: [DONE]\n\n")).toBe(true);
		const events = complete.split(/(?<=\n\n)/);
		for (let from = 0; from <= events.length + 1; from++) {
			const resumed = await resume(run, from);
			expect([resumed.status, await resumed.text()]).toEqual([200, events.slice(from).join("")]);
		}
	});

	it("is no failure in the log if the caller reads when its signal fires", async () => {
		const { live, outcomes, send, settled, start } = gateway();
		const caller = new AbortController();
		live.send(ANSWER[0] ?? "");
		const response = await start(caller.signal);
		const text = response.text();
		text.catch(() => {});
		await scheduler.wait(1);
		caller.abort();
		await expect(text).rejects.toThrow("Request was aborted");
		for (const frame of ANSWER.slice(1)) live.send(frame);
		live.end();
		await settled();
		expect(outcomes).toEqual(["ok"]);
		await vi.waitFor(async () => {
			const log = await send(`/ai-gateway/gateways/main/logs/${response.headers.get("cf-aig-log-id")}`);
			expect(await log.json()).toMatchObject({ result: { success: true, tokens_out: 2 } });
		});
	});

	it("is followed by a second reader while it is generated", async () => {
		const { live, resume, start } = gateway();
		live.send(ANSWER[0] ?? "");
		const response = await start();
		const text = response.text();
		const resumed = await resume(response.headers.get("cf-aig-run-id") ?? "", 1);
		const tail = resumed.text();
		for (const frame of ANSWER.slice(1)) live.send(frame);
		live.end();
		expect(resumed.headers.get("content-type")).toBe("text/event-stream");
		const complete = await text;
		expect(await tail).toBe(complete.slice(complete.indexOf("\n\n") + 2));
	});

	it("is not found by another account or gateway, nor after it expired", async () => {
		const { live, resume, settled, start } = gateway();
		for (const frame of ANSWER) live.send(frame);
		live.end();
		const response = await start();
		const run = response.headers.get("cf-aig-run-id") ?? "";
		await response.text();
		await settled();
		for (const other of [{ caller: "intruder" }, { id: "other" }]) {
			const refused = await resume(run, 0, other);
			expect([refused.status, await refused.json()]).toEqual([404, { error: "Request not found" }]);
		}
		expect((await resume("0".repeat(64), 0)).status).toBe(404);
		const malformed = await resume("abc", 0);
		expect([malformed.status, await malformed.json()]).toMatchObject([400, { internalCode: 2002 }]);
		const message = "from: expected the number of received events";
		const invalid = await resume(run, "x");
		expect([invalid.status, await invalid.json()]).toMatchObject([
			400,
			{ errors: [{ code: 7001, message }] },
		]);
	});

	it("is cancelled when the caller leaves, if the caller did not request it", async () => {
		const { live, outcomes, start } = gateway({});
		live.send(ANSWER[0] ?? "");
		const response = await start();
		expect(response.headers.has("cf-aig-run-id")).toBe(false);
		const reader = response.body?.getReader();
		await reader?.read();
		await reader?.cancel();
		await live.cancelled;
		expect(outcomes).toEqual(["cancelled"]);
	});

	it("is cancelled when the caller leaves before its first event", async () => {
		const { live, start } = gateway();
		const caller = new AbortController();
		const response = start(caller.signal);
		caller.abort();
		const refused = await response;
		expect(refused.headers.has("cf-aig-run-id")).toBe(false);
		live.end();
	});

	it("is resumed at the gateway's address", async () => {
		const { app, account } = closedGateway({ vars: { DEFAULT_BACKEND: "simulator" } });
		const headers = { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" };
		const url = `http://gateway/v1/${account}/default`;
		const response = await app.request(`${url}/workers-ai/${LLAMA}`, {
			method: "POST",
			headers: { ...headers, ...RESUMABLE },
			body: JSON.stringify({ prompt: "Hi", stream: true }),
		});
		const run = response.headers.get("cf-aig-run-id");
		const complete = await response.text();
		const resumed = await app.request(`${url}/run/${run}/resume?from=1`, { headers });
		expect(await resumed.text()).toBe(complete.slice(complete.indexOf("\n\n") + 2));
		const anonymous = await app.request(`${url}/run/${run}/resume?from=1`);
		expect(anonymous.status).toBe(401);
	});
});

describe("resumable_streams of AI_GATEWAY", () => {
	const GPT = "openai/gpt-5-mini";
	const IN_GATEWAY = { "cf-aig-gateway-id": "default" };
	const COMPAT = "http://gateway/v1/local/default/compat/chat/completions";

	it.each([
		["makes a stream of a provider's model on the run API resumable", GPT, {}, "/ai/run", true],
		["leaves out a request that refuses it", GPT, { "cf-aig-resumable": "false" }, "/ai/run", false],
		["leaves out a model of Workers AI", LLAMA, IN_GATEWAY, "/ai/run", false],
		["leaves out the addresses of providers", GPT, {}, COMPAT, false],
	])("%s", async (_, model, headers, path, isResumable) => {
		const vars = { AI_GATEWAY: { resumable_streams: true }, DEFAULT_BACKEND: "simulator" };
		const { send } = closedGateway({ vars }, "local");
		const chat = { messages: [{ role: "user", content: "Hi" }], stream: true };
		const body = path === COMPAT ? { model, ...chat } : { model, input: chat };
		const init = json("POST", body);
		const response = await send(path, ADMIN, { ...init, headers: { ...init.headers, ...headers } });
		expect(await response.text()).toContain("data: [DONE]");
		expect(response.headers.has("cf-aig-run-id")).toBe(isResumable);
	});

	it("is off by default", async () => {
		const { send } = closedGateway({ vars: { DEFAULT_BACKEND: "simulator" } });
		const input = { messages: [{ role: "user", content: "Hi" }], stream: true };
		const response = await send("/ai/run", ADMIN, json("POST", { model: GPT, input }));
		expect(await response.text()).toContain("data: [DONE]");
		expect(response.headers.has("cf-aig-run-id")).toBe(false);
	});
});
