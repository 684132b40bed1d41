/** Shadows of routes: what they receive, what they cost, and what the caller notices of them. */
import { describe, expect, it, vi } from "vitest";
import { delta } from "../../gateway.ts";
import { ADMIN, json } from "../../http/access.ts";
import { chatReply } from "./replays.ts";
import { echo, question, type Row, SHADOW, shadowed } from "./shadows.ts";

/** Of a request with USAGE. */
const PRICE = { neurons: 200, outcome: "ok" };

describe("a shadow", () => {
	it("answers after the caller has its answer, and both are in the table", async () => {
		const gateway = await shadowed(echo);
		const ids = [
			await gateway.chat("one"),
			await gateway.log("/ai/run/old", { prompt: "two" }),
			await gateway.chat("three", { stream: true }),
			await gateway.log("/ai/v1/messages", {
				...{ model: "old", max_tokens: 1_000 },
				messages: [{ role: "user", content: "four" }],
			}),
		];
		await gateway.settled(4);
		expect(gateway.outcomes()).toEqual({ compared: 4 });
		// The comparisons run in the background, so they may end in another order than the answers.
		const sent = gateway.toShadow().map((request) => [question(request), request.stream ?? false]);
		expect(sent.sort()).toEqual([
			["four", false],
			["one", false],
			["three", false],
			["two", false],
		]);
		const rows = await gateway.rows();
		expect(rows.map(({ log }) => log)).toEqual(ids.toReversed());
		expect(rows[3]).toMatchObject({
			created_at: expect.stringMatching(/^\d{4}-/),
			before: { provider: "workers-ai", model: "old", text: "old: one", text_complete: true },
			after: { provider: "engine", model: "new", text: "new: one", tokens_in: 1_000, tokens_out: 500 },
			same: false,
		});
		expect(rows[3]?.after?.cost).toBeCloseTo(0.0022, 6);
		expect(rows[1]).toMatchObject({ before: { text: "Streamed" }, after: { text: "new: three" } });
		expect(await gateway.list()).toMatchObject([
			{ ...{ name: "candidate", route: "old", backend: "engine", model: "new" }, share: 1, answers: 4 },
		]);
		// Its requests have no logs.
		expect((await gateway.call<object[]>("/main/logs")).result).toHaveLength(4);
	});

	it("serves models that only the pattern of a route names", async () => {
		const targets = [{ backend: "engine", model: "old" }];
		const gateway = await shadowed(echo, {}, { "acme/*": { targets, shadow: { ...SHADOW, name: "wide" } } });
		const messages = [{ role: "user", content: "one" }];
		await gateway.log("/ai/v1/chat/completions", { model: "acme/chat", messages });
		await gateway.settled(1);
		expect(gateway.outcomes()).toEqual({ compared: 1 });
		expect((await gateway.call<Row[]>("/main/shadows/wide/results")).result).toMatchObject([
			{ before: { model: "acme/chat" }, after: { text: "new: one" } },
		]);
	});

	it("changes no byte and no bill of the caller, and the operator's account pays", async () => {
		const answers = await Promise.all(
			[undefined, {}].map(async (setting) => {
				const gateway = await shadowed(echo, setting);
				const bodies: string[] = [];
				for (const stream of [false, true]) {
					const response = await gateway.send("/ai/v1/chat/completions", gateway.token, {
						...json("POST", { model: "old", stream, messages: [{ role: "user", content: "one" }] }),
						headers: { "content-type": "application/json", "cf-aig-gateway-id": "main" },
					});
					bodies.push(await response.text());
				}
				if (setting) await gateway.settled(2);
				const before = await gateway.operatorBills("old");
				return { bodies, bills: await gateway.bills(), operator: before };
			}),
		);
		const [without, with_] = answers;
		const comparable = (bodies: string[] = []): string[] =>
			bodies.map((body) => body.replace(/"(?:id|created)":(?:"[^"]*"|\d+)/g, ""));
		expect(comparable(with_?.bodies)).toEqual(comparable(without?.bodies));
		expect(with_?.bills).toEqual(without?.bills);
		expect(with_?.bills).toHaveLength(2);
		expect(with_?.operator.filter(({ neurons }) => neurons === PRICE.neurons)).not.toEqual([]);
	});

	// The gateway's random number is always 0, so the first requests are chosen. Other numbers: test/gateways/shadows.test.ts.
	it("receives 20 requests of each 1,000 with a share of 0.02, and no more", async () => {
		const gateway = await shadowed(echo, { share: 0.02 });
		const headers = { "content-type": "application/json", "cf-aig-gateway-id": "main" };
		for (let request = 0; request < 60; request++) {
			const response = await gateway.send("/ai/v1/chat/completions", gateway.token, {
				...json("POST", { model: "old", messages: [{ role: "user", content: `${request}` }] }),
				headers,
			});
			await response.text();
		}
		await gateway.settled(20);
		expect(gateway.sent.filter(({ model }) => model === "old")).toHaveLength(60);
		const { dropped = 0 } = gateway.outcomes();
		expect(gateway.toShadow()).toHaveLength(20 - dropped);
	});

	it("never receives a tool that an engine or a server runs", async () => {
		const gateway = await shadowed(echo);
		await gateway.chat("search", { web_search_options: {} });
		await gateway.log("/ai/v1/chat/completions", {
			model: "old",
			messages: [{ role: "user", content: "tools" }],
			tools: [{ type: "function", function: { name: "weather", parameters: { type: "object" } } }],
		});
		await gateway.settled(2);
		expect(gateway.outcomes()).toEqual({ unsent: 1, compared: 1 });
		expect(gateway.toShadow().map(question)).toEqual(["tools"]);
	});

	it("follows a caller who leaves, and compares no part of an answer", async () => {
		const gateway = await shadowed(({ model, stream, messages }) => {
			if (!stream) return chatReply(`${model}: ${messages.at(-1)?.content}`);
			const body = new ReadableStream({
				start: (controller) => controller.enqueue(new TextEncoder().encode(delta("The beginning"))),
			});
			return new Response(body, { headers: { "content-type": "text/event-stream" } });
		});
		const response = await gateway.send("/ai/v1/chat/completions", gateway.token, {
			...json("POST", { model: "old", stream: true, messages: [{ role: "user", content: "left" }] }),
			headers: { "content-type": "application/json", "cf-aig-gateway-id": "main" },
		});
		const reader = response.body?.getReader();
		await reader?.read();
		expect(gateway.toShadow()).toEqual([]);
		await reader?.cancel();
		await gateway.settled(1);
		const [row] = await gateway.rows();
		expect(row).toMatchObject({
			before: { text: "The beginning", text_complete: false },
			after: { text: "new: left" },
		});
		expect(row).not.toHaveProperty("same");
	});

	it("that fails is compared as a failure, once, with the provider's message", async () => {
		const gateway = await shadowed((sent) =>
			sent.model === "old"
				? echo(sent)
				: Response.json({ detail: [{ msg: "the context is too long" }] }, { status: 400 }),
		);
		await gateway.chat("one");
		await gateway.settled(1);
		expect(gateway.outcomes()).toEqual({ failed: 1 });
		expect(gateway.toShadow()).toHaveLength(1);
		const [row] = await gateway.rows();
		expect(row).toMatchObject({
			before: { text: "old: one" },
			error: { message: expect.stringContaining("the context is too long") },
		});
		expect(row).not.toHaveProperty("after");
	});

	it("that hangs delays no caller, and further ones are dropped", async () => {
		const hung = Promise.withResolvers<void>();
		const gateway = await shadowed(async (sent) => {
			if (sent.model === "new") await hung.promise;
			return echo(sent);
		});
		for (let request = 0; request < 20; request++) {
			const response = await gateway.send("/ai/v1/chat/completions", gateway.token, {
				...json("POST", { model: "old", messages: [{ role: "user", content: "one" }] }),
				headers: { "content-type": "application/json", "cf-aig-gateway-id": "main" },
			});
			expect(response.status).toBe(200);
			await response.text();
		}
		// An account has a half of the places.
		const running = () => gateway.services.counts().find(({ name }) => name === "shadows")?.used;
		await vi.waitFor(() => expect([gateway.outcomes(), running()]).toEqual([{ dropped: 4 }, 16]));
		hung.resolve();
		await gateway.settled(20);
		expect([gateway.outcomes(), running()]).toEqual([{ dropped: 4, compared: 16 }, 0]);
	});

	it("passes the data-loss rules of the gateway: an answer with a finding is not stored", async () => {
		const secret = "My card is 4111 1111 1111 1111.";
		const gateway = await shadowed(({ model }) => chatReply(model === "new" ? secret : "Hello"));
		const policy = {
			...{ id: "cards", enabled: true, action: "BLOCK" },
			...{ check: ["REQUEST", "RESPONSE"], profiles: ["credit_card"] },
		};
		const dlp = { enabled: true, policies: [policy] };
		expect((await gateway.createGateway({ dlp })).status).toBe(200);
		await gateway.chat("one");
		// The live request is refused, so its shadow is never asked.
		await gateway.log("/ai/v1/chat/completions", {
			model: "old",
			messages: [{ role: "user", content: secret }],
		});
		await gateway.settled(1);
		expect(gateway.outcomes()).toEqual({ refused: 1 });
		expect(gateway.toShadow().map(question)).toEqual(["one"]);
		const rows = await gateway.rows();
		expect(rows).toMatchObject([{ error: { code: 2030 } }]);
		expect(JSON.stringify(rows)).not.toContain("4111");
	});

	it("has no request whose contents are not logged, and none of a batch", async () => {
		const gateway = await shadowed(echo);
		const body = { model: "old", messages: [{ role: "user", content: "private" }] };
		await gateway.log("/ai/v1/chat/completions", body, { "cf-aig-collect-log-payload": "false" });
		const logged = await gateway.chat("logged");
		await gateway.settled(1);
		const { result } = await gateway.create({ model: "old" });
		await gateway.runAll();
		expect(await gateway.show(result.id)).toMatchObject({ logs: { completed: 1 } });
		expect(gateway.outcomes()).toEqual({ compared: 1 });
		expect((await gateway.rows()).map(({ log }) => log)).toEqual([logged]);
	});

	it("is shown only with the permission to read contents, and ends with its log", async () => {
		const gateway = await shadowed(echo);
		const first = await gateway.chat("one");
		await gateway.chat("two");
		await gateway.settled(2);
		const reader = await gateway.createToken(["Workers AI Read"]);
		for (const path of ["/main/shadows", "/main/shadows/candidate/results"])
			expect((await gateway.call(path, {}, reader)).status).toBe(403);
		const filters = encodeURIComponent(JSON.stringify([{ key: "id", operator: "eq", value: [first] }]));
		await gateway.send(`/ai-gateway/gateways/main/logs?filters=${filters}`, ADMIN, { method: "DELETE" });
		expect((await gateway.rows()).map(({ after }) => after?.text)).toEqual(["new: two"]);
		expect(await gateway.call("/main/shadows/candidate", { method: "DELETE" })).toMatchObject({
			status: 200,
			result: { name: "candidate" },
		});
		expect([await gateway.rows(), await gateway.list()]).toMatchObject([[], [{ answers: 0 }]]);
	});

	it("is named by explain", async () => {
		const gateway = await shadowed(echo, { share: 0.25 });
		const response = await gateway.send("/ai/explain/old", gateway.token, json("POST", { prompt: "Hello" }));
		expect(await response.json()).toMatchObject({
			result: { model: "old", shadow: { name: "candidate", backend: "engine", model: "new", share: 0.25 } },
		});
		const other = await gateway.send("/ai/explain/new", gateway.token, json("POST", { prompt: "Hello" }));
		expect((await other.json<{ result: object }>()).result).not.toHaveProperty("shadow");
	});
});
