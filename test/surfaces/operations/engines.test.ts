import { expect, it } from "vitest";
import { ADMIN, closedGateway, json } from "../../http/access.ts";

const MODEL = "@cf/meta/llama-3.1-8b-instruct-fp8";
const vars = {
	DEFAULT_BACKEND: "simulator",
	BACKENDS: { gpu: { kind: "openai", urls: ["http://gpu-1:8000/v1", "http://gpu-2:8000/v1"] } },
	ROUTES: {
		[MODEL]: [
			{ backend: "gpu", model: "llama", weight: 3 },
			{ backend: "simulator", weight: 1 },
		],
	},
};

it("lists the routes with their targets, and the health of each engine that was called", async () => {
	const fetch = async () => new Response("no", { status: 500 });
	const { send } = closedGateway({ vars, fetch });
	await send(`/ai/run/${MODEL}`, ADMIN, json("POST", { prompt: "Hi" }));
	const response = await send("http://gateway/client/v4/engines", ADMIN);
	const { result } = await response.json<{ result: { routes: object[]; engines: { backend: string }[] } }>();
	expect(result.routes).toEqual([
		{
			pattern: MODEL,
			targets: [
				{ backend: "gpu", replicas: ["gpu-1:8000", "gpu-2:8000"], model: "llama", weight: 3 },
				{ backend: "simulator", replicas: [], weight: 1 },
			],
		},
		{ pattern: "*", targets: [{ backend: "simulator", replicas: [] }] },
	]);
	const gpus = result.engines.filter(({ backend }) => backend === "gpu");
	expect(gpus).not.toEqual([]);
	for (const gpu of gpus)
		expect(gpu).toEqual({
			backend: "gpu",
			replica: expect.stringMatching(/^gpu-[12]:8000$/),
			replica_id: expect.stringMatching(/^[0-9a-f]{14}$/),
			model: "llama",
			circuit: "closed",
			requests: expect.any(Number),
			failures: expect.any(Number),
			answers: 0,
			latency_ms: null,
		});
	expect(result.engines).toContainEqual(
		expect.objectContaining({ backend: "simulator", replica: "", requests: 1, failures: 0, answers: 1 }),
	);
});
