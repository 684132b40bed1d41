/** The similarity cache of AI Search: developers.cloudflare.com/ai-search/configuration/retrieval/cache. */
import { describe, expect, it } from "vitest";
import { bandsOf, shinglesOf, similarity } from "../../../src/retrieval/search/cache/shingles.ts";
import { searchApi } from "./api.ts";

const QUESTION = "How do I reset the password of my account in the settings?";
const chatBody = (content: string, others: object = {}) => ({
	messages: [{ role: "user", content }],
	...others,
});

async function cachedApi(config: object = {}, options: Parameters<typeof searchApi>[0] = {}) {
	const api = searchApi(options);
	await api.create("docs", config);
	await api.upload(
		"passwords.md",
		"# Passwords\n\nTo reset the password of your account, open the settings page.",
	);
	const chat = async (body: object, instance = "docs") => {
		const response = await api.send("POST", `/instances/${instance}/chat/completions`, body);
		return {
			status: response.headers.get("cf-aig-cache-status"),
			neurons: response.headers.get("cf-ai-neurons"),
			lexical: response.headers.get("x-ganglion-scores"),
			text: await response.text(),
			type: response.headers.get("content-type"),
		};
	};
	return { ...api, chat };
}

describe("the cache of chats", () => {
	it("answers the same question again, without a model and without a bill", async () => {
		const api = await cachedApi();
		const first = await api.chat(chatBody(QUESTION));
		expect(first.status).toBe("MISS");
		const billed = async () =>
			(await api.services.ledgers.of("local").requests({ limit: 100 })).requests.length;
		const before = await billed();
		// An embedding of the item, one of the question, and the answer.
		expect(before).toBe(3);
		const second = await api.chat(chatBody(QUESTION));
		expect([second.status, second.neurons, second.lexical]).toEqual(["HIT", "0.00", "lexical"]);
		const [paid, free] = [JSON.parse(first.text), JSON.parse(second.text)];
		expect(free).toEqual({ ...paid, usage: { ...paid.usage, neurons: 0 } });
		expect(await billed()).toBe(before);
	});

	it("answers a similar question by its threshold", async () => {
		const similar = "How do I reset the password of an account in the settings?";
		const api = await cachedApi();
		await api.chat(chatBody(QUESTION));
		const of = async (cache_threshold: string, content = similar) =>
			(await api.chat(chatBody(content, { ai_search_options: { cache: { cache_threshold } } }))).status;
		expect(await of("super_strict_match")).toBe("MISS");
		const other = await cachedApi({ cache_threshold: "flexible_friend" });
		await other.chat(chatBody(QUESTION));
		expect((await other.chat(chatBody(similar))).status).toBe("HIT");
		expect((await other.chat(chatBody("Where are invoices?"))).status).toBe("MISS");
	});

	it("replays streams to streams only", async () => {
		const api = await cachedApi();
		const stream = chatBody(QUESTION, { stream: true });
		const first = await api.chat(stream);
		expect(first.status).toBe("MISS");
		await expect.poll(async () => (await api.chat(stream)).status).toBe("HIT");
		const second = await api.chat(stream);
		const withoutNeurons = (text: string) => text.replace(/"neurons":[\d.]+/g, '"neurons":0');
		expect(second.text).toBe(withoutNeurons(first.text));
		expect(second.type).toBe("text/event-stream");
		expect(second.text.startsWith("event: chunks\n")).toBe(true);
		expect((await api.chat(chatBody(QUESTION))).status).toBe("MISS");
	});

	it("keeps no stream that its caller has left", async () => {
		const api = await cachedApi();
		const stream = chatBody(QUESTION, { stream: true });
		const response = await api.send("POST", "/instances/docs/chat/completions", stream);
		const reader = response.body?.getReader();
		await reader?.read();
		await reader?.cancel();
		expect((await api.chat(stream)).status).toBe("MISS");
	});

	it.each<[string, (api: Awaited<ReturnType<typeof cachedApi>>) => Promise<unknown>]>([
		["an upload", (api) => api.upload("new.md", "Passwords are changed every month.")],
		[
			"a new version of an item",
			(api) => api.upload("passwords.md", "Ask the administrator for a password of your account."),
		],
		[
			"a deletion",
			async (api) => {
				const { result } = await api.get("/instances/docs/items");
				return api.delete(`/instances/docs/items/${result[0].id}`);
			},
		],
		["another configuration", (api) => api.put("/instances/docs", { max_num_results: 1 })],
	])("forgets after %s", async (_, change) => {
		const api = await cachedApi();
		await api.chat(chatBody(QUESTION));
		expect((await api.chat(chatBody(QUESTION))).status).toBe("HIT");
		await change(api);
		expect((await api.chat(chatBody(QUESTION))).status).toBe("MISS");
	});

	it("does not keep an answer from before a change", async () => {
		const api = await cachedApi();
		const stream = chatBody(QUESTION, { stream: true });
		const response = await api.send("POST", "/instances/docs/chat/completions", stream);
		await api.upload("new.md", "Passwords are changed every month.");
		await response.text();
		expect((await api.chat(stream)).status).toBe("MISS");
	});

	it("differs by model, options, other messages and instance", async () => {
		const api = await cachedApi();
		await api.create("other");
		await api.upload(
			"passwords.md",
			"To reset the password of your account, open the settings page.",
			{},
			"other",
		);
		await api.chat(chatBody(QUESTION));
		const others = [
			chatBody(QUESTION, { model: "@cf/google/gemma-4-26b-a4b-it" }),
			chatBody(QUESTION, { temperature: 0.1 }),
			chatBody(QUESTION, { ai_search_options: { retrieval: { max_num_results: 1 } } }),
			{
				messages: [
					{ role: "system", content: "Be short." },
					{ role: "user", content: QUESTION },
				],
			},
		];
		for (const body of others) {
			const answer = await api.chat(body);
			expect([answer.status, answer.status ?? answer.text]).toEqual(["MISS", "MISS"]);
		}
		expect((await api.chat(chatBody(QUESTION), "other")).status).toBe("MISS");
		expect((await api.chat(chatBody(QUESTION))).status).toBe("HIT");
	});

	it("ends with its time, and is off if the instance or the request says so", async () => {
		const api = await cachedApi({ cache_ttl: 600 });
		await api.chat(chatBody(QUESTION));
		expect(
			(await api.chat(chatBody(QUESTION, { ai_search_options: { cache: { enabled: false } } }))).status,
		).toBeNull();
		const services = api.services as { now(): number };
		const later = services.now() + 600_000;
		services.now = () => later;
		expect((await api.chat(chatBody(QUESTION))).status).toBe("MISS");
		const off = await cachedApi({ cache: false });
		expect((await off.chat(chatBody(QUESTION))).status).toBeNull();
		expect((await off.put("/instances/docs", { cache_ttl: 10 })).errors[0]?.message).toContain("cache_ttl");
		expect((await off.put("/instances/docs", { cache_threshold: "exact" })).errors[0]?.message).toContain(
			"cache_threshold",
		);
	});

	it("has no answer without documents", async () => {
		const api = await cachedApi({ score_threshold: 1 });
		const nothing = chatBody("Turbines?");
		await api.chat(nothing);
		expect((await api.chat(nothing)).status).not.toBe("HIT");
	});

	it("refuses a chat of a paused instance", async () => {
		const api = await cachedApi();
		await api.chat(chatBody(QUESTION));
		await api.put("/instances/docs", { paused: true });
		expect((await api.chat(chatBody(QUESTION))).text).toContain("ai_search_is_paused");
	});
});

describe("the cache of searches", () => {
	it("is used if the request asks for it", async () => {
		const api = await cachedApi();
		const search = async (cache?: object) => {
			const response = await api.send("POST", "/instances/docs/search", {
				query: QUESTION,
				ai_search_options: { ...(cache && { cache }) },
			});
			return [response.headers.get("cf-aig-cache-status"), await response.json()];
		};
		const [, plain] = await search();
		const [first, missed] = await search({ enabled: true });
		const [second, hit] = await search({ enabled: true });
		expect([first, second]).toEqual(["MISS", "HIT"]);
		expect(hit).toEqual(missed);
		expect(hit).toEqual(plain);
	});
});

describe("the cache of a namespace", () => {
	const options = { instance_ids: ["docs", "other"] };
	const namespace = async (config: object = {}) => {
		const api = await cachedApi(config);
		await api.create("other");
		await api.upload("invoices.md", "An invoice has the password of your account.", {}, "other");
		const ask = async (path: string, body: object) => {
			const response = await api.send("POST", `/namespaces/default/${path}`, body);
			// biome-ignore lint/suspicious/noExplicitAny: the tests compare it.
			return [response.headers.get("cf-aig-cache-status"), (await response.json()) as any] as const;
		};
		const chat = (content = QUESTION, others: object = {}) =>
			ask("chat/completions", chatBody(content, { ai_search_options: { ...options, ...others } }));
		return { api, ask, chat };
	};

	it("answers a chat of several instances again, also a similar one, and bills it once", async () => {
		const { api, chat } = await namespace({ cache_threshold: "flexible_friend" });
		const [first, paid] = await chat();
		const [second, free] = await chat();
		expect([first, second]).toEqual(["MISS", "HIT"]);
		expect(free).toMatchObject({ chunks: paid.chunks, choices: paid.choices, usage: { neurons: 0 } });
		expect(paid.chunks.map(({ instance_id: id }: { instance_id: string }) => id).sort()).toEqual([
			"docs",
			"other",
		]);
		expect((await chat("How do I reset the password of an account in the settings?"))[0]).toBe("HIT");
		const { requests } = await api.services.ledgers.of("local").requests({ limit: 100 });
		// An embedding of each item, one of the question in each instance, and the answer.
		expect(requests).toHaveLength(5);
	});

	it.each(["docs", "other"])("forgets after a change of an item in %s", async (instance) => {
		const { api, chat } = await namespace();
		await chat();
		expect((await chat())[0]).toBe("HIT");
		await api.upload("new.md", "Passwords are changed every month.", {}, instance);
		expect((await chat())[0]).toBe("MISS");
		expect((await chat())[0]).toBe("HIT");
	});

	it("differs by the instances, and their configurations", async () => {
		const { api, chat } = await namespace();
		await chat();
		expect((await chat(QUESTION, { instance_ids: ["docs"] }))[0]).toBe("MISS");
		expect((await chat(QUESTION, { instance_ids: ["other", "docs"] }))[0]).toBe("MISS");
		await api.put("/instances/other", { max_num_results: 1 });
		expect((await chat())[0]).toBe("MISS");
	});

	it("is not used if an instance is paused, is missing, or the request says so", async () => {
		const { api, chat } = await namespace();
		expect((await chat(QUESTION, { cache: { enabled: false } }))[0]).toBeNull();
		expect((await chat(QUESTION, { instance_ids: ["docs", "missing"] }))[0]).toBeNull();
		await api.put("/instances/other", { paused: true });
		const [status, { chunks }] = await chat();
		expect([status, chunks.length]).toEqual([null, 1]);
	});

	it("answers searches that ask for it", async () => {
		const { api, ask } = await namespace();
		const search = (cache: object) =>
			ask("search", { query: QUESTION, ai_search_options: { ...options, cache } });
		const [none, plain] = await search({});
		const [first] = await search({ enabled: true });
		const [second, hit] = await search({ enabled: true });
		expect([none, first, second]).toEqual([null, "MISS", "HIT"]);
		expect(hit.result).toEqual(plain.result);
		await api.upload("new.md", "Passwords are changed every month.", {}, "other");
		expect((await search({ enabled: true }))[0]).toBe("MISS");
		expect(
			(await api.post("/namespaces/absent/search", { query: "x", ai_search_options: options })).errors[0]
				?.code,
		).toBe(7063);
	});
});

describe("the cache of AutoRAG", () => {
	const rag = async (config: object = {}) => {
		const api = await cachedApi(config);
		const ask = async (body: object, path = "ai-search") => {
			const response = await api.app.request(
				`http://gateway/client/v4/accounts/local/autorag/rags/docs/${path}`,
				{ method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } },
			);
			return [response.headers.get("cf-aig-cache-status"), await response.text()] as const;
		};
		return { api, ask };
	};

	it("answers the same and a similar question again, complete and as a stream", async () => {
		const { api, ask } = await rag({ cache_threshold: "flexible_friend" });
		const [first, paid] = await ask({ query: QUESTION });
		const [second, free] = await ask({ query: QUESTION });
		expect([first, second]).toEqual(["MISS", "HIT"]);
		expect(JSON.parse(free)).toEqual(JSON.parse(paid));
		expect((await ask({ query: "How do I reset the password of an account in the settings?" }))[0]).toBe(
			"HIT",
		);
		const stream = { query: QUESTION, stream: true };
		const [streamed, events] = await ask(stream);
		expect(streamed).toBe("MISS");
		await expect.poll(async () => (await ask(stream))[0]).toBe("HIT");
		const withoutNeurons = (text: string) => text.replace(/"neurons":[\d.]+/g, '"neurons":0');
		expect(withoutNeurons((await ask(stream))[1])).toBe(withoutNeurons(events));
		const { requests } = await api.services.ledgers.of("local").requests({ limit: 100 });
		// An embedding of the item; one of the question and an answer, complete and as a stream.
		expect(requests).toHaveLength(5);
	});

	it("differs by the other fields, and forgets after a change of an item", async () => {
		const { api, ask } = await rag();
		await ask({ query: QUESTION });
		expect((await ask({ query: QUESTION, system_prompt: "Be short." }))[0]).toBe("MISS");
		expect((await ask({ query: QUESTION, max_num_results: 1 }))[0]).toBe("MISS");
		await api.upload("new.md", "Passwords are changed every month.");
		expect((await ask({ query: QUESTION }))[0]).toBe("MISS");
	});

	it("has no searches, and is off if the instance says so", async () => {
		const { ask } = await rag();
		expect((await ask({ query: QUESTION }, "search"))[0]).toBeNull();
		const off = await rag({ cache: false });
		expect((await off.ask({ query: QUESTION }))[0]).toBeNull();
	});
});

describe("the similarity of questions", () => {
	const words = (count: number, from = 0) =>
		Array.from({ length: count }, (_, index) => `word${index + from}`).join(" ");

	it("is the share of common words and pairs of words", () => {
		expect(similarity(shinglesOf("a b c"), shinglesOf("A, b; C!"))).toBe(1);
		// Words: 2 of 4 are common. Pairs: 1 of 3.
		expect(similarity(shinglesOf("a b c"), shinglesOf("a b d"))).toBeCloseTo(3 / 7, 10);
		expect(similarity(shinglesOf("a"), shinglesOf("b"))).toBe(0);
		expect(similarity(shinglesOf("?"), shinglesOf("!"))).toBe(0);
	});

	it("finds nearly all candidates of a share of 0.4 by a band", () => {
		let found = 0;
		for (let seed = 0; seed < 200; seed++) {
			const [one, other] = [shinglesOf(words(20, seed * 100)), shinglesOf(words(20, seed * 100 + 8))];
			expect(similarity(one, other)).toBeGreaterThan(0.4);
			const bands = bandsOf(other);
			if (bandsOf(one).some((value, band) => value === bands[band])) found++;
		}
		expect(found).toBeGreaterThan(190);
	});
});
