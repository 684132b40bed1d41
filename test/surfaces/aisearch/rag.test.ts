/** AutoRAG: on the wire of the runtime's class (workerd, src/cloudflare/internal/autorag-api.ts), and over REST. */
import { describe, expect, it } from "vitest";
import { wireOf } from "../../../src/surfaces/binding/binding.ts";
import { CALLER } from "../../gateway.ts";
import { searchApi } from "./api.ts";

const TEXT = "To reset a password, open the settings page.";

async function rag() {
	const api = searchApi();
	await api.create();
	await api.upload("guides/passwords.md", TEXT);
	const rest = (path: string, body?: object) =>
		api.app.request(`http://gateway/client/v4/accounts/local${path}`, {
			...(body && {
				method: "POST",
				body: JSON.stringify(body),
				headers: { "content-type": "application/json" },
			}),
		});
	const wire = async (path: string, body?: object) =>
		wireOf(api.services).fetch(
			new Request(`https://workers-binding.ai${path}`, {
				...(body && {
					method: "POST",
					body: JSON.stringify(body),
					headers: { "content-type": "application/json" },
				}),
			}),
			{ caller: CALLER },
		);
	return { api, calls: { rest, wire } };
}

describe.each(["rest", "wire"] as const)("AutoRAG over %s", (way) => {
	it("lists the instances", async () => {
		const { calls } = await rag();
		expect(await (await calls[way]("/autorag/rags")).json()).toMatchObject({
			success: true,
			result: [
				{
					id: "docs",
					enable: true,
					vectorize_name: expect.stringMatching(/^ai-search-/),
					paused: false,
					status: "ready",
				},
			],
		});
	});

	it("searches, with filters and a threshold", async () => {
		const { calls } = await rag();
		const filters = { type: "eq", key: "folder", value: "guides/" };
		const search = async (fields: object) =>
			(await calls[way]("/autorag/rags/docs/search", { query: "reset password", ...fields })).json<{
				result: { data: unknown[] };
			}>();
		expect((await search({ filters })).result).toEqual({
			...{ object: "vector_store.search_results.page", search_query: "reset password" },
			...{ has_more: false, next_page: null },
			data: [
				{
					...{ file_id: expect.stringMatching(/^[\da-f-]{36}$/), filename: "guides/passwords.md", score: 1 },
					attributes: { modified_date: Date.parse("2026-11-21T12:00:00Z") },
					content: [{ id: expect.stringMatching(/\.1\.0$/), type: "text", text: TEXT }],
				},
			],
		});
		expect((await search({ filters: { ...filters, value: "news/" } })).result.data).toEqual([]);
		expect((await search({ reranking: { enabled: true }, max_num_results: 1 })).result.data).toHaveLength(1);
	});

	it("answers, complete and as a stream", async () => {
		const { calls } = await rag();
		const body = { query: "reset password", system_prompt: "Be short." };
		const whole = await (await calls[way]("/autorag/rags/docs/ai-search", body)).json();
		expect(whole).toMatchObject({
			result: {
				response: expect.stringContaining("no model ran"),
				data: [{ filename: "guides/passwords.md" }],
			},
		});
		const stream = await calls[way]("/autorag/rags/docs/ai-search", { ...body, stream: true });
		expect(stream.headers.get("content-type")).toContain("text/event-stream");
		expect(await stream.text()).toMatch(/^data: \{"response":"/);
	});

	it("names the ignored fields of a question in a header", async () => {
		const { calls } = await rag();
		const dropped = async (fields: object) => {
			const response = await calls[way]("/autorag/rags/docs/ai-search", {
				query: "reset password",
				...fields,
			});
			await response.text();
			return response.headers.get("x-ganglion-dropped");
		};
		const fields = { max_results: 1, ranking_options: { threshold: 0.1 } };
		for (const stream of [false, true])
			expect(await dropped({ ...fields, stream })).toBe("max_results, ranking_options.threshold");
		expect(await dropped({})).toBeNull();
	});

	it("does not find another one", async () => {
		const { calls } = await rag();
		const response = await calls[way]("/autorag/rags/mine/search", { query: "x" });
		expect(response.status).toBe(404);
		const message = 'ai_search_not_found: "mine" in the namespace "default"';
		expect(await response.json()).toMatchObject({ errors: [{ code: 7002, message }] });
	});
});

it("indexes all items again", async () => {
	const { api } = await rag();
	const sync = () =>
		api.app.request("http://gateway/client/v4/accounts/local/autorag/rags/docs/sync", { method: "PATCH" });
	expect(await (await sync()).json()).toMatchObject({ result: { job_id: expect.any(String) } });
	expect((await sync()).status).toBe(429);
});
